/** Whom a mail comes from, and through which server it goes: the message's word, the app's, the installation's. */
import { findFrom, type Mailbox, readMailbox, readSmtpUrl, type SmtpServer } from '../core/mail-addresses.ts'
import type { DeliveryWork } from '../core/deliveries.ts'
import { ownPlaceOf, type Way } from '../core/mailer.ts'
import type { DkimKey } from './compose.ts'
import type { Provider } from './provider.ts'
import { createSmtpProvider } from './smtp.ts'

/** What the installation sends with; null where nothing is set. */
export type MailDefaults = { smtpUrl: string | null; from: string | null }

type MailSettings = DeliveryWork['settings']

/** `provider` null: nothing leaves, every mail is kept. */
export type Route = {
  from: Mailbox
  replyTo: Mailbox | null
  dkim: DkimKey | null
  /** names the server, and how it is spoken to: that one speaks no TLS says nothing to whoever asks for none */
  server: string
  /** tells apart who logs in at a server: that one is refused says nothing about another (promises 21) */
  login: string
  /** tells apart for whom a login sends: that the address of an app is refused says nothing about another app */
  own: string
  provider: Provider | null
}

/** What may be left alone for a while, each for reasons of its own; each within the one before. */
export const placesOf = ({ server, login, own }: Route): [string, string, string] => [server, login, own]

export type RouteFault = { fault: 'no_sender' | 'smtp_url' }

export type Routes = ReturnType<typeof createRoutes>

const CAPTURE = 'capture'

/** A login that nobody named for so long is forgotten, and its connections end. No pause is as long. */
const FORGOTTEN_MS = 3_600_000

/** `provider` undefined: no mail went there yet; null: what was set is no address of a mail server. */
type Known = { login: string; provider: Provider | null | undefined; namedAt: number }

type Options = { monotonicMs: () => number; createProvider?: (url: string) => Provider | null }

/** Connections are opened once for each server, and shared by the apps that use it. */
export function createRoutes(defaults: MailDefaults, { monotonicMs, createProvider = providerOf }: Options) {
  const sender = defaults.from === null ? null : readMailbox(defaults.from)
  /** By URL, whoever was named last at the end. */
  const known = new Map<string, Known>()
  let logins = 0

  const forgetOld = (now: number): void => {
    for (const [url, { provider, namedAt }] of known) {
      if (namedAt > now - FORGOTTEN_MS) return
      known.delete(url)
      provider?.close()
    }
  }
  const nameLogin = (url: string): Known => {
    const now = monotonicMs()
    const found = known.get(url) ?? { login: `login ${logins++}`, provider: undefined }
    const named = Object.assign(found, { namedAt: now })
    known.delete(url)
    known.set(url, named)
    forgetOld(now)
    return named
  }
  const urlOf = ({ smtpUrl }: Pick<MailSettings, 'smtpUrl'>): string | null => smtpUrl ?? defaults.smtpUrl

  return {
    sender,
    find({ message, settings }: Pick<DeliveryWork, 'message' | 'settings'>): Route | RouteFault {
      const { mail } = message.content
      const from = findFrom(mail, settings, sender)
      if (from === null) return { fault: 'no_sender' }
      const replyTo = mail.replyTo ?? settings.replyTo
      const common = { from, replyTo: replyTo === null ? null : readMailbox(replyTo), dkim: readDkim(settings) }
      const url = urlOf(settings)
      if (url === null) return { ...common, server: CAPTURE, login: CAPTURE, own: CAPTURE, provider: null }
      const named = nameLogin(url)
      const { login, provider = createProvider(url) } = named
      named.provider = provider
      if (provider === null) return { fault: 'smtp_url' }
      return {
        ...common,
        server: placeOf(url),
        login,
        own: ownPlaceOf(login, message.appId, findFrom({}, settings, sender)),
        provider,
      }
    },
    /** null where nothing leaves, or what was set is no address of a mail server. */
    findServer(settings: MailSettings): SmtpServer | null {
      const url = urlOf(settings)
      return url === null ? null : readSmtpUrl(url)
    },
    findWay(settings: MailSettings): Way {
      const url = urlOf(settings)
      const isUnreadable = url !== null && readSmtpUrl(url) === null
      const common = { from: findFrom({}, settings, sender), isOwn: settings.smtpUrl !== null, isUnreadable }
      if (url === null || isUnreadable) return { ...common, server: null, login: null, places: [] }
      const [server, login] = [nameOf(url), nameLogin(url).login]
      return { ...common, server, login, places: [placeOf(url), login] }
    },
    close(): void {
      for (const { provider } of known.values()) provider?.close()
    },
  }
}

const providerOf = (url: string): Provider | null => {
  const server = readSmtpUrl(url)
  return server && createSmtpProvider(server)
}

const nameOf = (url: string): string => {
  const server = readSmtpUrl(url)
  return server === null ? url : `${server.host}:${server.port}`
}

const placeOf = (url: string): string => `${readSmtpUrl(url)?.isSecure ? 'smtps' : 'smtp'}://${nameOf(url)}`

const readDkim = ({ dkimDomain, dkimSelector, dkimKey }: DeliveryWork['settings']): DkimKey | null =>
  dkimDomain === null || dkimSelector === null || dkimKey === null
    ? null
    : { domain: dkimDomain, selector: dkimSelector, key: dkimKey }
