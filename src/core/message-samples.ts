import { allHold, parseProperties } from '../store/conditions.ts'
import type { MessageContent, Trigger } from '../store/message-types.ts'
import { isPathLike } from '../store/paths.ts'
import { PAGE_NAME } from '../store/snippet-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, ContactRow, EventRow } from '../store/types.ts'
import type { TemplateWorker } from './template-worker.ts'
import type { UsedProperty } from './templates.ts'

/** So many are offered, of the newest so many that are looked at. */
const OFFERED = 10
const LOOKED_AT = 200

/** A person whom a message would have been for; `event` null where nothing but the person started it. */
export type SampleMoment = { contact: ContactRow; event: EventRow | null }

/** The latest who would have started a message, newest first, each person once. */
export async function listSamples(store: Store, app: AppRow, trigger: Trigger): Promise<SampleMoment[]> {
  if ('contact' in trigger || 'tag' in trigger) {
    const tag = 'tag' in trigger ? trigger.tag : null
    const query = { appId: app.id, tag, updatedAfter: null, before: null, limit: OFFERED }
    return (await store.listContacts(query)).map((contact) => ({ contact, event: null }))
  }
  const name = 'event' in trigger ? trigger.event : PAGE_NAME
  const query = { appId: app.id, contactId: null, name, before: null, limit: LOOKED_AT }
  const { rows } = await store.listEvents(query)
  const people = new Map<number, EventRow>()
  for (const row of rows.filter((row) => startedBy(row, trigger))) {
    if (!people.has(row.contactId) && people.size < OFFERED) people.set(row.contactId, row)
  }
  const found = [...people].map(async ([id, row]) => ({ contact: await store.byId(id), event: withoutPage(row) }))
  return (await Promise.all(found)).flatMap(({ contact, event }) => (contact ? [{ contact, event }] : []))
}

function startedBy({ path, properties }: EventRow, trigger: Trigger): boolean {
  if ('page' in trigger) return path !== null && isPathLike(path, trigger.page)
  return 'event' in trigger && allHold(trigger.where ?? [], parseProperties(properties))
}

/** A page view fills no template. */
const withoutPage = (row: EventRow): EventRow | null => (row.type === 'page' ? null : row)

/** Somebody who does not exist, with a value for each of `properties`, which are those that the email uses. */
export function makeSample(
  app: AppRow,
  { trigger }: Pick<MessageContent, 'trigger'>,
  { properties: used, at }: { properties: readonly UsedProperty[]; at: number },
): SampleMoment {
  const properties = {
    ...Object.fromEntries(used.map(({ name, kind }) => [name, makeValue(name, kind, at)])),
    headline: 'Your 12 pictures are ready',
    url: new URL('/results', app.homeUrl ?? `https://${app.hosts[0] ?? 'example.com'}`).href,
  }
  const event = { ...NOTHING, name: 'event' in trigger ? trigger.event : '', properties: JSON.stringify(properties) }
  return { contact: { ...ADA, appId: app.id }, event: 'event' in trigger ? { ...event, occurredAt: at } : null }
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

/** The same for a message whose templates were not looked at yet. */
export async function makeSampleFor(
  templates: TemplateWorker,
  app: AppRow,
  { content, at }: { content: MessageContent; at: number },
): Promise<SampleMoment> {
  const { subject, preheader = '', body } = content.mail
  const inspected = await templates.inspect(app.id, [subject, preheader, body])
  return makeSample(app, content, { properties: inspected?.properties ?? [], at })
}
