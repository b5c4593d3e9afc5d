import { DAY_MS } from '../core/clock.ts'
import type { DateTrigger, MailSettings, MessageContent } from '../store/message-types.ts'
import type { AppRow, ContactRow, EventRow } from '../store/types.ts'
import { findVariant, listTexts, writeTexts } from './mail-texts.ts'
import { mailFactsOf, mailTemplateOf } from './mailer.ts'
import type { TemplateWorker } from './template-worker.ts'
import { makeSampleValue, type Making } from './sample-values.ts'
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

/** With a value for each of `properties`, and the date that triggers it. `events`: how many are listed. */
export function makeSample(
  app: AppRow,
  { trigger }: Pick<MessageContent, 'trigger'>,
  { properties: used, at, events = 1 }: { properties: readonly UsedProperty[]; at: number; events?: number },
): SampleMoment {
  const home = app.homeUrl ?? `https://${app.hosts[0] ?? 'example.com'}`
  const making = { at, home, locale: app.locale, timezone: app.timezone }
  const [ofPerson, ofEvent] = [used.filter(({ isField }) => isField), used.filter(({ isField }) => !isField)]
  const date = 'date' in trigger ? { [trigger.date]: new Date(dateOf(trigger, at)).toISOString() } : {}
  const contact = { ...ADA, appId: app.id, fields: { ...valuesOf(ofPerson, making), ...date } }
  if (!hasProperties(trigger)) return { contact, event: null, joined: [] }
  const name = nameOfStart(trigger) ?? ''
  const makeEvent = (nth: number): EventRow => {
    const values = {
      ...valuesOf(ofEvent, making),
      headline: `Your ${12 + nth} pictures are ready`,
      url: new URL(nth === 0 ? '/results' : `/results/${nth + 1}`, home).href,
    }
    return { ...NOTHING, id: nth, name, properties: JSON.stringify(values), occurredAt: at }
  }
  const further = Array.from({ length: events - 1 }, (_, index) => ({ event: makeEvent(index + 1) }))
  return { contact, event: makeEvent(0), joined: further }
}

type Values = Record<string, string | number>

/** Used in several ways, a number or date counts. */
function valuesOf(used: readonly UsedProperty[], making: Making): Values {
  const last = used.toSorted((a, b) => Number(a.kind !== 'text') - Number(b.kind !== 'text'))
  return Object.fromEntries(last.map((one) => [one.name, makeSampleValue(one, making)]))
}

/** A date by which the trigger is due now. */
const dateOf = ({ days, when }: DateTrigger, at: number): number => at + (when === 'before' ? days : -days) * DAY_MS

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

/** A person whom POST /send is about to add. */
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
  return makeSample(app, content, { properties: await listUsed(templates, app, content), at, events })
}

/** Properties of events and fields of people that the texts use; none if a text can't be parsed. */
export async function listUsed(
  templates: TemplateWorker,
  app: AppRow,
  { mail }: Pick<MessageContent, 'mail'>,
): Promise<readonly UsedProperty[]> {
  const sources = listTexts(mail).flatMap(({ text }) => Object.values(writeTexts(text)))
  return (await templates.inspect(app.id, sources))?.properties ?? []
}
