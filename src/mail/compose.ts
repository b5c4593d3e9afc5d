import { createPrivateKey, type KeyObject } from 'node:crypto'
import { isLoopback, type Mailbox } from '../core/mail-addresses.ts'
import type { RenderedMail } from '../messages/mailer.ts'
import { loadComposer, loadDkim } from './nodemailer.ts'

export type DkimKey = { domain: string; selector: string; key: string }

export type Letter = {
  mail: Pick<RenderedMail, 'subject' | 'html' | 'text'>
  from: Mailbox
  replyTo: Mailbox | null
  to: Mailbox
  /** without angle brackets; the same for every attempt */
  messageId: string
  at: number
  unsubscribeUrl: string | null
  dkim: DkimKey | null
}

export type ComposedMail = { from: string; to: string; raw: Buffer }

/** Everything a reader or mail program acts on (RFC 8058 requires List-Unsubscribe-Post). */
const SIGNED =
  'From:Reply-To:Subject:Date:Message-ID:To:MIME-Version:Content-Type:Content-Transfer-Encoding:List-Unsubscribe:List-Unsubscribe-Post:Auto-Submitted'

/** @throws Error when the key can't sign */
export async function composeMail(letter: Letter): Promise<ComposedMail> {
  const { mail, from, replyTo, to, messageId, at, unsubscribeUrl, dkim } = letter
  const MailComposer = await loadComposer()
  const composer = new MailComposer({
    from,
    to,
    ...(replyTo === null ? {} : { replyTo }),
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    textEncoding: 'quoted-printable',
    newline: 'windows',
    messageId: `<${messageId}>`,
    date: new Date(at),
    headers: headersOf(unsubscribeUrl),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const raw = await composer.compile().build()
  return { from: from.address, to: to.address, raw: dkim === null ? raw : await sign(raw, dkim) }
}

/** Stops automatic replies. One-click unsubscribe needs https (RFC 8058), or http on this machine for trials. */
const headersOf = (unsubscribeUrl: string | null) => ({
  'Auto-Submitted': 'auto-generated',
  ...(unsubscribeUrl === null || !isPrivate(unsubscribeUrl)
    ? {}
    : {
        'List-Unsubscribe': { prepared: true, foldLines: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
})

function isPrivate(text: string): boolean {
  const url = new URL(text)
  return url.protocol === 'https:' || isLoopback(url.hostname)
}

const SIGNATURE = 'DKIM-Signature:'

/** Parsed keys: parsing costs a fifth of signing. */
const KEYS_MAX = 100
const keys = new Map<string, KeyObject>()

function readKey(pem: string): KeyObject {
  const known = keys.get(pem)
  if (known) return known
  if (keys.size >= KEYS_MAX) keys.clear()
  const key = createPrivateKey(pem)
  keys.set(pem, key)
  return key
}

async function sign(raw: Buffer, { domain, selector, key }: DkimKey): Promise<Buffer> {
  const [privateKey, DKIM] = [readKey(key), await loadDkim()]
  const signer = new DKIM({ domainName: domain, keySelector: selector, privateKey, headerFieldNames: SIGNED })
  const signed = Buffer.concat(await Array.fromAsync(signer.sign(raw)))
  // nodemailer silently skips an invalid key
  if (signed.subarray(0, SIGNATURE.length).toString('latin1') !== SIGNATURE) {
    throw new Error("the app's DKIM key can't sign")
  }
  return signed
}
