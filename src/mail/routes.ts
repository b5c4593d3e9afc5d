/** Whom a mail comes from, and through which server it goes: the message's word, the app's, the installation's. */
import { type Mailbox, readMailbox, readSmtpUrl, type SmtpServer } from '../core/mail-addresses.ts'
import { findFrom } from '../accounts/senders.ts'
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import { ownPlaceOf, type Way } from '../messages/mailer.ts'
import type { DkimKey } from './compose.ts'
import { type Dial, dialAny } from './dial.ts'
import type { Provider } from './provider.ts'
import { createSmtpProvider, SMTP_LIMITS } from './smtp.ts'

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
  /** tells apart who logs in at a server: that one is refused says nothing about another */
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

/** Which server a mail goes through. `isOwn`: the app set it, and not the operator. */
type Server = { url: string; isOwn: boolean }

type Options = {
  monotonicMs: () => number
  /** connects to the servers of apps */
  dialOwn: Dial
  createProvider?: (url: string, dial: Dial) => Provider | null
}

/** Connections are opened once for each server, and shared by the apps that use it. */
export function createRoutes(defaults: MailDefaults, { monotonicMs, dialOwn, createProvider = providerOf }: Options) {
  const sender = defaults.from === null ? null : readMailbox(defaults.from)
  /** By `keyOf`, whoever was named last at the end. */
  const known = new Map<string, Known>()
  let logins = 0
  const dialFor = ({ isOwn }: Server): Dial => (isOwn ? dialOwn : dialAny)

  const forgetOld = (now: number): void => {
    for (const [key, { provider, namedAt }] of known) {
      if (namedAt > now - FORGOTTEN_MS) return
      known.delete(key)
      provider?.close()
    }
  }
  const nameLogin = (server: Server): Known => {
    const now = monotonicMs()
    const key = keyOf(server)
    const found = known.get(key) ?? { login: `login ${logins++}`, provider: undefined }
    const named = Object.assign(found, { namedAt: now })
    known.delete(key)
    known.set(key, named)
    forgetOld(now)
    return named
  }
  const serverOf = ({ smtpUrl }: Pick<MailSettings, 'smtpUrl'>): Server | null => {
    if (smtpUrl !== null) return { url: smtpUrl, isOwn: true }
    return defaults.smtpUrl === null ? null : { url: defaults.smtpUrl, isOwn: false }
  }

  return {
    installation: { from: sender, hasServer: defaults.smtpUrl !== null },
    find({ message, settings }: Pick<DeliveryWork, 'message' | 'settings'>): Route | RouteFault {
      const { mail } = message.content
      const from = findFrom(mail, settings, sender)
      if (from === null) return { fault: 'no_sender' }
      const replyTo = mail.replyTo ?? settings.replyTo
      const common = { from, replyTo: replyTo === null ? null : readMailbox(replyTo), dkim: readDkim(settings) }
      const server = serverOf(settings)
      if (server === null) return { ...common, server: CAPTURE, login: CAPTURE, own: CAPTURE, provider: null }
      const named = nameLogin(server)
      const { login, provider = createProvider(server.url, dialFor(server)) } = named
      named.provider = provider
      if (provider === null) return { fault: 'smtp_url' }
      return {
        ...common,
        server: placeOf(server),
        login,
        own: ownPlaceOf(login, message.appId, findFrom({}, settings, sender)),
        provider,
      }
    },
    /** By which mail that is no app's own may leave; null where the sender or the server is missing. */
    findForNotice(settings: MailSettings | null): Omit<Route, 'own' | 'replyTo'> | null {
      const from = settings ? findFrom({}, settings, sender) : sender
      const server = serverOf(settings ?? { smtpUrl: null })
      if (from === null || server === null) return null
      const named = nameLogin(server)
      const { login, provider = createProvider(server.url, dialFor(server)) } = named
      named.provider = provider
      const dkim = settings && readDkim(settings)
      return provider && { from, dkim, server: placeOf(server), login, provider }
    },
    /** null where nothing leaves, or what was set is no address of a mail server. */
    findServer(settings: MailSettings): { server: SmtpServer; dial: Dial } | null {
      const found = serverOf(settings)
      const server = found && readSmtpUrl(found.url)
      return found && server && { server, dial: dialFor(found) }
    },
    findWay(settings: MailSettings): Way {
      const server = serverOf(settings)
      const isUnreadable = server !== null && readSmtpUrl(server.url) === null
      const common = { from: findFrom({}, settings, sender), isOwn: settings.smtpUrl !== null, isUnreadable }
      if (server === null || isUnreadable) return { ...common, server: null, login: null, places: [] }
      const { login } = nameLogin(server)
      return { ...common, server: nameOf(server.url), login, places: [placeOf(server), login] }
    },
    close(): void {
      for (const { provider } of known.values()) provider?.close()
    },
  }
}

const providerOf = (url: string, dial: Dial): Provider | null => {
  const server = readSmtpUrl(url)
  return server && createSmtpProvider(server, SMTP_LIMITS, dial)
}

/** What an app set and what the operator set are apart, also where both wrote the same: they may reach other hosts. */
const keyOf = ({ url, isOwn }: Server): string => `${isOwn ? 'app ' : ''}${url}`

const nameOf = (url: string): string => {
  const server = readSmtpUrl(url)
  return server === null ? url : `${server.host}:${server.port}`
}

const placeOf = ({ url, isOwn }: Server): string => {
  const scheme = readSmtpUrl(url)?.isSecure ? 'smtps' : 'smtp'
  return keyOf({ url: `${scheme}://${nameOf(url)}`, isOwn })
}

const readDkim = ({ dkimDomain, dkimSelector, dkimKey }: DeliveryWork['settings']): DkimKey | null =>
  dkimDomain === null || dkimSelector === null || dkimKey === null
    ? null
    : { domain: dkimDomain, selector: dkimSelector, key: dkimKey }
