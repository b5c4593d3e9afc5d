import type { MailSettings, MessageContent } from '../store/message-types.ts'
import type { AppRow, ContactRow, EventRow } from '../store/types.ts'
import { findVariant, listTexts, writeTexts } from './mail-texts.ts'
import { mailFactsOf, mailTemplateOf } from './mailer.ts'
import type { TemplateWorker } from './template-worker.ts'
import type { UsedProperty } from './templates.ts'
import { hasProperties, nameOfStart } from './triggers.ts'

/** `event` null: the person alone started it. `joined`: further events of the email. */
export type SampleMoment = { contact: ContactRow; event: EventRow | null; joined: { event: EventRow }[] }

export const SEVERAL = 3

type Filling = { app: AppRow; content: MessageContent; settings: MailSettings }

const UNSUBSCRIBE_URL = 'https://example.com/unsubscribe'

/** The newest whose email lacks no value, else the newest. */
export async function pickFilled<Moment extends SampleMoment>(
  templates: TemplateWorker,
  { app, content, settings }: Filling,
  moments: readonly Moment[],
): Promise<Moment | undefined> {
  for (const moment of moments) {
    const events = [moment, ...moment.joined].flatMap(({ event }) => event ?? [])
    const variant = findVariant(content.mail, moment.contact)
    const template = mailTemplateOf(content.mail, variant)
    const facts = mailFactsOf({ ...moment, events, app, settings, variant }, UNSUBSCRIBE_URL)
    if (!('missing' in (await templates.render(app.id, { template, facts })))) return moment
  }
  return moments[0]
}

/** With a value for each of `properties`. `events`: how many are listed. */
export function makeSample(
  app: AppRow,
  { trigger }: Pick<MessageContent, 'trigger'>,
  { properties: used, at, events = 1 }: { properties: readonly UsedProperty[]; at: number; events?: number },
): SampleMoment {
  const contact = { ...ADA, appId: app.id }
  if (!hasProperties(trigger)) return { contact, event: null, joined: [] }
  const name = nameOfStart(trigger) ?? ''
  const home = app.homeUrl ?? `https://${app.hosts[0] ?? 'example.com'}`
  const makeEvent = (nth: number): EventRow => {
    const properties = {
      ...Object.fromEntries(used.map(({ name, kind }) => [name, makeValue(name, kind, at)])),
      headline: `Your ${12 + nth} pictures are ready`,
      url: new URL(nth === 0 ? '/results' : `/results/${nth + 1}`, home).href,
    }
    return { ...NOTHING, id: nth, name, properties: JSON.stringify(properties), occurredAt: at }
  }
  const further = Array.from({ length: events - 1 }, (_, index) => ({ event: makeEvent(index + 1) }))
  return { contact, event: makeEvent(0), joined: further }
}

const makeValue = (name: string, kind: UsedProperty['kind'], at: number): string | number =>
  kind === 'number' ? 12 : kind === 'date' ? new Date(at).toISOString() : name

const ADA: ContactRow = {
  id: 0,
  appId: 0,
  email: 'ada@example.com',
  shownEmail: null,
  firstName: 'Ada',
  lastName: 'Lovelace',
  source: null,
  status: 'subscribed',
  tags: null,
  fields: null,
  createdAt: 0,
  updatedAt: 0,
  firstSeenAt: null,
  lastSeenAt: null,
  lastEventAt: null,
}

/** Someone whom a call is about to add. */
export const makeNewPerson = (app: AppRow, email: string): ContactRow => ({
  ...ADA,
  appId: app.id,
  email,
  firstName: null,
  lastName: null,
})

const NOTHING: EventRow = {
  id: 0,
  contactId: 0,
  email: ADA.email,
  type: 'event',
  name: '',
  properties: null,
  path: null,
  via: 'api',
  receivedAt: 0,
  occurredAt: 0,
}

/** For templates that weren't inspected yet. */
export async function makeSampleFor(
  templates: TemplateWorker,
  app: AppRow,
  { content, at, events }: { content: MessageContent; at: number; events?: number },
): Promise<SampleMoment> {
  const sources = listTexts(content.mail).flatMap(({ text }) => Object.values(writeTexts(text)))
  const inspected = await templates.inspect(app.id, sources)
  return makeSample(app, content, { properties: inspected?.properties ?? [], at, events })
}
