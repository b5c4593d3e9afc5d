import { isLifecycle } from '../deliveries/decide.ts'
import type { EventRow } from '../events/events.ts'
import { publicId } from '../core/ids.ts'
import { makeMailbox } from '../core/mail-addresses.ts'
import { findVariant } from '../messages/mail-texts.ts'
import { mailFactsOf, mailTemplateOf, type RenderedMail, type Sample } from '../messages/mailer.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { TemplateFault } from '../messages/template-faults.ts'
import { type OptInText, writeRequest } from '../accounts/opt-in.ts'
import type { ComposedMail } from './compose.ts'
import { composeFor } from './provider.ts'
import type { Route } from './routes.ts'
import type { MailSettings } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import { RESULTS_READY } from '../core/field-patterns.ts'
import { CONFIRM_PATH } from '../people/consent.ts'
import { TEST_TOKEN } from '../people/unsubscribe.ts'
import { FIRST_MESSAGES } from '../accounts/first-messages.ts'

/** `url`: unsubscribes. `confirmUrl`: for emails that ask for consent. */
export type MailLinks = { url: string; confirmUrl: string }

/** They do nothing. */
export const testLinks = (baseUrl: string): MailLinks => ({
  url: `${baseUrl}/u/${TEST_TOKEN}`,
  confirmUrl: `${baseUrl}${CONFIRM_PATH}/${TEST_TOKEN}`,
})

export function renderSample(
  templates: TemplateWorker,
  sample: Sample,
  { url, confirmUrl }: MailLinks,
  how: { isAlone?: boolean; isSent?: boolean } = {},
): Promise<RenderedMail | TemplateFault> {
  const { mail } = sample.message.content
  const { variant = findVariant(mail, sample.contact) } = sample
  const whole = {
    template: mailTemplateOf(mail, variant),
    facts: mailFactsOf(
      { ...sample, variant, events: listEvents(sample) },
      url,
      sample.message.content.asksConsent ? confirmUrl : undefined,
    ),
  }
  return templates.render(sample.app.id, whole, how)
}

/** Oldest first by time of the event, not of arrival. */
const listEvents = ({ event, joined }: Sample): EventRow[] =>
  [...(event ? [event] : []), ...joined.map((one) => one.event)].toSorted(
    (a, b) => a.occurredAt - b.occurredAt || a.id - b.id,
  )

type Composing = { mail: RenderedMail; route: Route; url: string; at: number; messageId: string } & {
  repeatKey?: string
  to?: string
}

/** null when DKIM is set but can't sign: nothing is sent unsigned. */
export async function composeSample(
  { app, message, contact }: Sample,
  composing: Composing,
): Promise<ComposedMail | null> {
  const { mail, route, url, at, messageId, repeatKey } = composing
  // a test goes to someone else than the person whose event it shows
  const names = composing.to === undefined ? [contact.firstName, contact.lastName] : []
  const name = names.filter((part) => part !== null).join(' ')
  const to = makeMailbox(name, composing.to ?? contact.email)
  if (to === null) throw new Error('a person without an address')
  const { from, replyTo, dkim, login } = route
  const unsubscribeUrl = isLifecycle(message.content) ? url : null
  return composeFor(login.provider, {
    mail,
    to,
    from,
    replyTo,
    dkim,
    at,
    messageId,
    repeatKey,
    unsubscribeUrl,
    feedbackId: feedbackIdOf(app, message),
  })
}

const FEEDBACK_SENDER = 'eventpost'

/** Campaign, customer, kind of email and sender (https://support.google.com/mail/answer/6254652). */
const feedbackIdOf = (app: AppRow, { id, content: { mail } }: Sample['message']): string => {
  const campaign = id === 0 ? 'send' : publicId('msg', id)
  return [campaign, app.publicId, mail.category ?? 'lifecycle', FEEDBACK_SENDER].join(':')
}

const SAMPLE_TIMES = { createdAt: 0, updatedAt: 0 }

/** The email that asks for consent, to preview it. */
export function makeRequestSample(
  app: AppRow,
  settings: MailSettings,
  { text, language }: { text: OptInText; language: string | null },
): Sample {
  const { message, ...sample } = makeSenderSample(app, settings)
  const content = { ...message.content, mail: writeRequest(text, language), asksConsent: true as const }
  return { ...sample, event: null, message: { ...message, content }, variant: language }
}

/** The first draft with sample data, to preview an app's emails. */
export function makeSenderSample(app: AppRow, settings: MailSettings): Sample {
  const [draft] = FIRST_MESSAGES
  if (!draft) throw new Error('there is no first message')
  const properties = JSON.stringify({ headline: 'Your 12 pictures are ready', url: app.homeUrl ?? '' })
  const times = { ...SAMPLE_TIMES, firstSeenAt: null, lastSeenAt: null, lastEventAt: null }
  const person = { id: 0, appId: app.id, email: 'ada@example.com', firstName: 'Ada', lastName: null }
  return {
    app,
    settings,
    joined: [],
    message: { id: 0, accountId: app.accountId, appId: app.id, status: 'draft', version: 1, ...SAMPLE_TIMES, ...draft },
    contact: { ...person, shownEmail: null, tags: [], fields: {}, source: null, status: 'subscribed', ...times },
    event: {
      id: 0,
      contactId: 0,
      email: person.email,
      type: 'event',
      name: RESULTS_READY,
      properties,
      path: null,
      via: 'api',
      receivedAt: 0,
      occurredAt: 0,
    },
  }
}
