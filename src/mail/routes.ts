/** Sender and mail server of an email: from the message, else the app, else the installation. */
import { type Mailbox, readMailbox } from '../core/mail-addresses.ts'
import { type ApiName, describeService, isApi, type MailService, readMailUrl } from '../core/mail-apis.ts'
import { type DkimKey, readDkimKeys } from '../accounts/dkim.ts'
import { providerOfHost } from '../accounts/mail-providers.ts'
import { findFrom } from '../accounts/senders.ts'
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import { type Clock, HOUR_MS } from '../core/clock.ts'
import type { MailRoute } from '../messages/mailer.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import { composeMail, type EmailFields } from './compose.ts'
import { type Dial, dialAny } from './dial.ts'
import { createOutageWatch, type OutageWatch } from './outage.ts'
import type { Provider } from './provider.ts'
import { deliveryOf } from './api.ts'
import { API_LIMITS, createApiProvider } from './api-provider.ts'
import { createSmtpProvider, SMTP_LIMITS } from './smtp.ts'
import { createWindow, type Window } from './window.ts'

/** The installation's own settings. */
/** `alertSmtpUrl`: the second server for alerts. */
export type MailDefaults = { smtpUrl: string | null; from: string | null; alertSmtpUrl?: string | null }

type MailSettings = DeliveryWork['settings']

/** A login at a mail server. Its apps share its connections, breaker and window. */
export type Login = {
  /** for the log; prefixed with "app" if the app set it */
  server: string
  /** null: emails are captured, or the URL is invalid */
  provider: Provider | null
  /** for failures to connect or log in */
  breaker: Breaker
  /** for what the server accepts at a time */
  window: Window
  outage: OutageWatch
}

export type Route = { from: Mailbox; replyTo: Mailbox | null; dkim: DkimKey | null; login: Login }

/** `name`: of the server, for people. */
type NoticeRoute = Omit<Route, 'replyTo'> & { name: string; provider: Provider }

export type RouteFault = { fault: 'no_sender' | 'smtp_url' }

export type Routes = ReturnType<typeof createRoutes>

type Named = { app: { name: string } }

/** Where the name of the app is not known. */
const EVENTPOST = { name: 'Eventpost' }

/** Unused logins are closed after this time, which is longer than any pause. */
const UNUSED_LOGIN_MS = HOUR_MS

/** `isOwn`: set by the app, not by the operator. */
type Server = { url: string; isOwn: boolean }

type Options = {
  clock: Clock
  /** for servers set by apps */
  dialOwn: Dial
  createProvider?: (url: string, dial: Dial) => Provider | null
  /** where tests answer instead of a provider */
  standIns?: StandIns
}

export type StandIns = Partial<Record<ApiName | 'sendgrid', { host: string; port: number }>>

export function createRoutes(defaults: MailDefaults, { clock, dialOwn, standIns = {}, ...given }: Options) {
  const createProvider = given.createProvider ?? ((url, dial) => providerOf(readService(url, standIns), dial))
  const sender = defaults.from === null ? null : readMailbox(defaults.from)
  /** By `keyOf`, most recently used last. */
  const logins = new Map<string, Login & { usedAt: number }>()
  const outbox: Login = {
    server: 'capture',
    provider: null,
    breaker: createBreaker(clock),
    window: createWindow(clock),
    outage: createOutageWatch(clock),
  }
  const dialFor = ({ isOwn }: Server): Dial => (isOwn ? dialOwn : dialAny)

  const closeUnused = (now: number): void => {
    for (const [key, { provider, usedAt }] of logins) {
      if (usedAt > now - UNUSED_LOGIN_MS) return
      logins.delete(key)
      provider?.close()
    }
  }
  const open = (server: Server) => ({
    server: nameOf(server),
    provider: createProvider(server.url, dialFor(server)),
    breaker: createBreaker(clock),
    window: createWindow(clock),
    outage: createOutageWatch(clock),
  })
  const openLogin = (server: Server): Login => {
    const [key, now] = [keyOf(server), clock.monotonicMs()]
    const login = Object.assign(logins.get(key) ?? open(server), { usedAt: now })
    logins.delete(key)
    logins.set(key, login)
    closeUnused(now)
    return login
  }
  const serverOf = ({ smtpUrl }: Pick<MailSettings, 'smtpUrl'>): Server | null => {
    if (smtpUrl !== null) return { url: smtpUrl, isOwn: true }
    return defaults.smtpUrl === null ? null : { url: defaults.smtpUrl, isOwn: false }
  }
  const findLogin = (settings: Pick<MailSettings, 'smtpUrl'>): Login => {
    const server = serverOf(settings)
    return server === null ? outbox : openLogin(server)
  }

  const routeOf = (server: Server, from: Mailbox | null, dkim: DkimKey | null): NoticeRoute | null => {
    const login = openLogin(server)
    const { provider } = login
    if (from === null || provider === null) return null
    return { name: describeUrl(server.url), from, dkim, login, provider }
  }

  return {
    installation: { from: sender, hasServer: defaults.smtpUrl !== null },
    find({ message, settings, app }: Pick<DeliveryWork, 'message' | 'settings'> & Named): Route | RouteFault {
      const { mail } = message.content
      const from = findFrom({ mail, settings, fallback: sender, app })
      if (from === null) return { fault: 'no_sender' }
      const login = findLogin(settings)
      if (login !== outbox && login.provider === null) return { fault: 'smtp_url' }
      const replyTo = mail.replyTo ?? settings.replyTo
      return {
        from,
        replyTo: replyTo === null ? null : readMailbox(replyTo),
        dkim: readDkimKeys(settings).signing,
        login,
      }
    },
    /** For emails to members; null without a sender or server. */
    findForNotice(settings: MailSettings | null): NoticeRoute | null {
      const from = settings ? findFrom({ settings, fallback: sender, app: EVENTPOST }) : sender
      const server = serverOf(settings ?? { smtpUrl: null })
      return server && routeOf(server, from, settings && readDkimKeys(settings).signing)
    },
    /** By the second server for alerts. `settings`: of an app whose sender is used if the operator has set none. */
    findForAlerts(settings: MailSettings | null): NoticeRoute | null {
      const own = settings && findFrom({ settings, fallback: null, app: EVENTPOST })
      const url = defaults.alertSmtpUrl ?? null
      return url === null ? null : routeOf({ url, isOwn: false }, sender ?? own, null)
    },
    /** null without a server or with an invalid URL. */
    findServer(settings: MailSettings): { server: MailService; dial: Dial } | null {
      const found = serverOf(settings)
      const server = found && readService(found.url, standIns)
      return found && server && { server, dial: dialFor(found) }
    },
    findLogin,
    /** The default address of an app. */
    findFromEmail: (settings: MailSettings): string | undefined =>
      findFrom({ settings, fallback: sender, app: EVENTPOST })?.address,
    describeRoute({ settings, app }: Pick<DeliveryWork, 'settings'> & Named): MailRoute {
      const server = serverOf(settings)
      const read = server && readMailUrl(server.url)
      return {
        from: findFrom({ settings, fallback: sender, app }),
        server: read && describeService(read),
        host: read && read.host,
        isApi: read !== null && isApi(read),
        provider: read && (isApi(read) ? read.api : (providerOfHost(read.host)?.id ?? null)),
        isOwn: settings.smtpUrl !== null,
        isUnreadable: server !== null && read === null,
      }
    },
    close(): void {
      for (const { provider } of logins.values()) provider?.close()
    },
  }
}

function readService(url: string, standIns: StandIns): MailService | null {
  const read = readMailUrl(url)
  return read && isApi(read) ? { ...read, ...standIns[read.api] } : read
}

function providerOf(server: MailService | null, dial: Dial): Provider | null {
  if (server === null) return null
  if (isApi(server)) return createApiProvider(server, API_LIMITS, dial)
  const provider = createSmtpProvider(server, SMTP_LIMITS, dial)
  const known = providerOfHost(server.host)
  if (!known?.addsFeedbackId) return provider
  const headers = (fields: EmailFields) => known.smtpHeaders?.(deliveryOf(fields))
  return { ...provider, compose: (fields) => composeMail({ ...fields, headers: headers(fields), feedbackId: null }) }
}

/** The same URL of an app and of the operator may reach different hosts. */
const keyOf = ({ url, isOwn }: Server): string => `${isOwn ? 'app ' : ''}${url}`

const describeUrl = (url: string): string => {
  const read = readMailUrl(url)
  return read === null ? '' : describeService(read)
}

/** Without the password. */
const nameOf = ({ url, isOwn }: Server): string => {
  const server = readMailUrl(url)
  const scheme = server === null || isApi(server) ? '' : server.isSecure ? 'smtps://' : 'smtp://'
  return keyOf({ url: server === null ? url : `${scheme}${describeService(server)}`, isOwn })
}
