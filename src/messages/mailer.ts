/** The interface of mail for other modules. Injected, so that messages don't import mail. */
import type { HandOvers } from '../core/hand-overs.ts'
import type { DeliveryWork, JoinedEvent, Mail, MailCategory, MailSettings } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import { findFooterTexts, type ShownTexts } from '../accounts/app-texts.ts'
import type { NoticeMailer } from '../accounts/notices.ts'
import type { ProviderList } from '../people/suppression-sync.ts'
import type { DnsChecks } from '../accounts/dns-checks.ts'
import type { Senders } from '../accounts/senders.ts'
import type { TemplateFacts } from './template-scope.ts'
import { type MailTexts, textOf, writeTexts } from './mail-texts.ts'
import type { TemplateFault } from './template-faults.ts'

export type MailTemplate = MailTexts & { category: MailCategory }

/** `layout`: the app's own, in Liquid and HTML. */
export type MailStyle = {
  logoUrl: string | null
  colour: string | null
  postalAddress: string | null
  layout: string | null
  texts: ShownTexts
  lang: string
}

export type MailFacts = TemplateFacts & { app: { hosts: readonly string[] }; style: MailStyle }

/** `refusedLinks`: URLs of the event or person outside the app's hosts; shown, not linked. */
export type RenderedMail = { subject: string; html: string; text: string; refusedLinks: string[] }

/** `variant`: its language; null: the message's own text. */
export const mailTemplateOf = (mail: Mail, variant: string | null): MailTemplate => ({
  ...writeTexts(textOf(mail, variant)),
  category: mail.category ?? 'lifecycle',
})

/** `variant`: the language of the text; null: the message's own. */
type Written = { variant: string | null }

type Someone = Pick<TemplateFacts, 'contact' | 'event' | 'events'>

export function mailFactsOf(
  { contact, event, events, app, settings, variant }: Someone & Pick<Sample, 'app' | 'settings'> & Written,
  url: string,
  confirmUrl?: string,
): MailFacts {
  const { email, firstName, lastName, tags, fields } = contact
  const { logoUrl, colour, postalAddress, layout } = settings
  const texts = findFooterTexts(settings.texts, variant)
  return {
    contact: { email, firstName, lastName, tags, fields },
    event: event && { properties: event.properties },
    events: events?.map(({ properties }) => ({ properties })),
    app: {
      name: app.name,
      homeUrl: app.homeUrl,
      hosts: app.hosts,
      locale: variant ?? app.locale,
      timezone: app.timezone,
    },
    unsubscribeUrl: url,
    ...(confirmUrl === undefined ? {} : { confirmUrl }),
    style: { logoUrl, colour, postalAddress, layout, texts, lang: variant ?? texts.lang ?? app.locale },
  }
}

/**
 * No email of the app leaves until `until` (ms UTC). `isOwn`: only this app's emails are refused. `isAsked`: the server
 * asked for the pause.
 */
export type Pause = { reason: string; until: number; isOwn: boolean; isAsked: boolean }

/**
 * No email gets through. `silent`: no answer while it is sent. `unconfirmed`: none after it was sent. `refused`: each is
 * refused for now.
 */
export type MailOutage = { how: 'silent' | 'unconfirmed' | 'refused'; reason: string }

/**
 * Limits that the app's mail server has shown. `closed`: it has accepted nothing since `at`; the next attempt is at
 * `tryAt` (ms UTC). `reply`: codes of its last refusal.
 */
export type LearnedLimits = {
  connections: { most: number; at: number } | null
  rate: { count: number; periodMs: number; at: number } | null
  closed: { at: number; tryAt: number } | null
  reply: string | null
}

export type Sample = Omit<
  DeliveryWork,
  'delivery' | 'joined' | 'lead' | 'send' | 'sourceHash' | 'limitedMs' | 'brakedMs' | 'brake'
> & {
  joined: Pick<JoinedEvent, 'event'>[]
  /** the text to show, null for the message's own; default: by the person's language */
  variant?: string | null
}

/**
 * `kept`: captured, because no mail server is set up. `unknown`: sent without a reply. `reason` is a code such as
 * `smtp_550`, `reply` the server's codes.
 */
export type TestResult =
  | { is: 'sent' }
  | { is: 'kept'; raw: string }
  | { is: 'failed' | 'unknown'; reason: string; reply?: string; detail?: string }
  | TemplateFault

/**
 * `from` null: no sender. `server`: for people, without password or key; null: emails are captured. `host`: of the mail
 * server or API. `provider`: its ID, if it is known. `isOwn`: set by the app. `isUnreadable`: the setting is invalid.
 */
export type MailRoute = {
  from: Mailbox | null
  server: string | null
  host: string | null
  isApi: boolean
  provider: string | null
  isOwn: boolean
  isUnreadable: boolean
}

/** The provider accepts emails only to verified addresses, or none. */
export type AccountNote = 'sandbox' | 'paused'

/**
 * Connected and logged in without sending. `login`: accepted, not offered, not set, or the key
 * of an API. `answer`: the refusal in the
 * server's own text, only of a server that the app set.
 */
export type ServerCheck =
  | { is: 'fine'; isSecure: boolean; login: 'taken' | 'unasked' | 'none' | 'key'; note?: AccountNote }
  | { is: 'failed'; reason: string; reply?: string; answer?: string }

export type Mailer = HandOvers &
  NoticeMailer & {
    senders: Senders
    dnsChecks: DnsChecks
    preview(sample: Sample): Promise<RenderedMail | TemplateFault>
    /** At once, without any rule. */
    sendTest(sample: Sample, to: Mailbox): Promise<TestResult>
    checkServer(app: Pick<AppRow, 'publicId'>, settings: MailSettings): Promise<ServerCheck | null>
    /** Whether the mail server can be reached: connects without a login. A code such as `erefused`, or null. */
    probe(settings: MailSettings): Promise<string | null>
    /**
     * After failed probes, one was answered: emails don't wait for the end of a pause. `failedSince` (ms of the monotonic
     * clock): what failed from then on no longer counts as an outage; null: it still counts.
     */
    noteReached(settings: MailSettings, reached: { failedSince: number | null }): void
    /** It is on this machine or a private network. */
    refusesServer(url: string): boolean
    /** The operator named some that apps can use. */
    allowsPrivateServers: boolean
    findPause(app: Pick<AppRow, 'id'>, settings: MailSettings): Pause | null
    /** Whether no email gets through its mail server. `isSeen`: an email showed it since the start. */
    findOutage(settings: MailSettings): { isSeen: boolean; outage: MailOutage | null }
    /** When its mail server last took an email from this instance (ms UTC); null: not since the start. */
    findAccepted(settings: MailSettings): number | null
    /** null: it never refused more. Apps with the same login share it. */
    findLimits(settings: MailSettings): LearnedLimits | null
    /** The list of the app's email provider; `why`: it can't be read. null: the provider is not known. */
    findSuppressionList(settings: MailSettings): ProviderList | { provider: string; why: string } | null
    findMailRoute(of: { settings: MailSettings; app: Pick<AppRow, 'name'> }): MailRoute
  }
