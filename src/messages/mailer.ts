/** What the rest of the program may ask of what sends email. It is passed in, so that messages need not import mail. */
import type { HandedMail } from '../core/ended.ts'
import type { DeliveryWork, JoinedEvent, Mail, MailSettings } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import type { NoticeMailer } from '../accounts/notices.ts'
import type { Senders } from '../accounts/senders.ts'
import type { TemplateFacts } from './template-scope.ts'
import type { TemplateFault } from './template-faults.ts'

/** What an email says, as its message has it. */
export type MailWords = {
  subject: string
  preheader: string
  body: string
  category: 'lifecycle' | 'transactional'
}

/** What the app says about every email of its own; null where it says nothing. */
export type MailStyle = { logoUrl: string | null; colour: string | null; postalAddress: string | null }

export type MailFacts = TemplateFacts & { app: { hosts: readonly string[] }; style: MailStyle }

/** `refusedLinks` are addresses that came with the event or the person and are not the app's own: said, not linked. */
export type RenderedMail = { subject: string; html: string; text: string; refusedLinks: string[] }

export const mailWordsOf = ({ subject, preheader = '', body, category = 'lifecycle' }: Mail): MailWords => ({
  subject,
  preheader,
  body,
  category,
})

type Someone = Pick<TemplateFacts, 'contact' | 'event' | 'events'>

/** Only what an email may use, because it crosses to another thread. `url` is where the person unsubscribes. */
export function mailFactsOf(
  { contact, event, events, app, settings }: Someone & Pick<Sample, 'app' | 'settings'>,
  url: string,
): MailFacts {
  const { email, firstName, lastName, tags, fields } = contact
  const { logoUrl, colour, postalAddress } = settings
  return {
    contact: { email, firstName, lastName, tags, fields },
    event: event && { properties: event.properties },
    events: events?.map(({ properties }) => ({ properties })),
    app: { name: app.name, homeUrl: app.homeUrl, hosts: app.hosts, locale: app.locale, timezone: app.timezone },
    unsubscribeUrl: url,
    style: { logoUrl, colour, postalAddress },
  }
}

/** No email of an app goes `until` then (ms UTC). `isOwn`: a mail server takes none of this app's, and is not paused itself. */
export type Pause = { reason: string; until: number; isOwn: boolean }

/** A message with the person, the events and the app it is shown for. */
export type Sample = Omit<DeliveryWork, 'delivery' | 'joined' | 'lead'> & { joined: Pick<JoinedEvent, 'event'>[] }

/**
 * `kept`: nothing leaves this installation, and this is what would have. `unknown`: all of it went out, and no answer
 * came. `reason` is a code, such as `smtp_550`, `reply` the codes of the mail server's answer, such as `550 5.7.1`, and
 * `detail` a sentence that says more than the code.
 */
export type TestResult =
  | { is: 'sent' }
  | { is: 'kept'; raw: string }
  | { is: 'failed' | 'unknown'; reason: string; reply?: string; detail?: string }
  | TemplateFault

/**
 * `from` null: there is no sender. `server` names it without its password; null: nothing leaves, every mail is kept.
 * `isOwn`: the app has set it, and not the installation. `isUnreadable`: what was set is no address of a mail server.
 */
export type Way = {
  from: Mailbox | null
  server: string | null
  isOwn: boolean
  isUnreadable: boolean
}

/**
 * What came of reaching a mail server and logging in, with nothing sent. `login`: it took the user name and password, it
 * offers no way to log in, or there is none set. `reason` and `reply` as above.
 */
export type ServerCheck =
  | { is: 'fine'; isSecure: boolean; login: 'taken' | 'unasked' | 'none' }
  | { is: 'failed'; reason: string; reply?: string }

export type Mailer = HandedMail &
  NoticeMailer & {
    /** which addresses apps may send from */
    senders: Senders
    /** The mail as it would go out: the same code as for sending. */
    preview(sample: Sample): Promise<RenderedMail | TemplateFault>
    /** Sends a sample to a member, at once and past every rule. */
    sendTest(sample: Sample, to: Mailbox): Promise<TestResult>
    /** Tries the server that an app's mails leave through; null where it has none. */
    checkServer(app: Pick<AppRow, 'publicId'>, settings: MailSettings): Promise<ServerCheck | null>
    /** Whether an app may not use this server, whatever its name resolves to: it is on this machine or a private network. */
    refusesServer(url: string): boolean
    /** What an app's mails wait for, as it is set up now; null where they go. */
    findPause(app: Pick<AppRow, 'id'>, settings: MailSettings): Pause | null
    /** Whom an app's mails come from and how they leave, by its settings and the installation's. */
    findWay(settings: MailSettings): Way
  }
