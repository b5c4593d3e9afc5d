/** Why this person did, or did not, get this message: by their delivery, or by what never started one (messages.md). */
import { allHold, compares, parseProperties, propertyOf } from '../store/conditions.ts'
import type { Condition, DeliveryRow, MessageContent, MessageRow, Trigger } from '../store/message-types.ts'
import { isPathLike } from '../store/paths.ts'
import { PAGE_NAME } from '../store/snippet-types.ts'
import type { Store } from '../store/store.ts'
import { TRIGGER_AGE_MS } from '../store/triggers.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import { sayCompared, sayValue } from './condition-words.ts'
import { explainDelivery, type Explanation, toExplained } from './explanations.ts'
import { sayTime } from './time-words.ts'
import { sayName } from './told.ts'

/** How many of the latest events of a person are looked at. */
const LOOKED_AT = 100

/** `delivery` is the newest, null where none was ever queued. */
export type MessageExplanation = Explanation & { message: MessageRow; delivery: DeliveryRow | null }

/** The person, and the zone of their app (IANA name), by which times are told. */
type Whom = { person: ContactRow; zone: string }

/** What happened last that would start a message, and what happened that comes near. */
type Causes = { last: Cause | null; near: EventRow | null }
type Cause = { at: number; cameAt: number }

/**
 * Explains as far as what is stored can tell: events and page views that were erased, and when a tag was added, are
 * not known any more.
 */
export async function explainMessageFor(
  store: Store,
  person: ContactRow,
  message: MessageRow,
): Promise<MessageExplanation> {
  const query = {
    appId: person.appId,
    messageId: message.id,
    contactId: person.id,
    states: null,
    before: null,
    limit: 1,
  }
  const [delivery] = await store.listDeliveries(query)
  const work = delivery ? await store.findWork(delivery.id) : null
  const causes = await findCauses(store, person, message.content.trigger)
  const whom = { person, zone: (await store.findApp(person.appId))?.timezone ?? 'UTC' }
  if (!work) {
    const why = sayNever(whom, message, { ...causes, liveAt: await store.firstLiveAt(message) })
    return { message, delivery: null, why, judgedAt: null, rules: [] }
  }
  const explained = explainDelivery(toExplained(work))
  const why = [explained.why, sayUsedUp(whom, work, causes)].filter((sentence) => sentence !== '').join(' ')
  return { ...explained, why, message, delivery: work.delivery }
}

async function findCauses(store: Store, person: ContactRow, trigger: Trigger): Promise<Causes> {
  if ('contact' in trigger) return { last: { at: person.createdAt, cameAt: person.createdAt }, near: null }
  if ('tag' in trigger) return { last: null, near: null }
  const name = 'event' in trigger ? trigger.event : PAGE_NAME
  const query = { appId: person.appId, contactId: person.id, name, before: null, limit: LOOKED_AT }
  const { rows } = await store.listEvents(query)
  const last = rows.find((row) => isCause(row, trigger))
  return { last: last ? { at: last.occurredAt, cameAt: last.receivedAt } : null, near: rows[0] ?? null }
}

function isCause({ path, properties }: EventRow, trigger: Trigger): boolean {
  if ('page' in trigger) return path !== null && isPathLike(path, trigger.page)
  return 'event' in trigger && allHold(trigger.where ?? [], parseProperties(properties))
}

/** What started it, as a sentence without its end: "results_ready came for Ada on 3 May 2026, 14:05 UTC". */
function sayCause({ person, zone }: Whom, { trigger }: MessageContent, at: number): string {
  const [name, time] = [sayName(person), sayTime(at, zone)]
  if ('page' in trigger) return `${name} opened ${trigger.page} on ${time}`
  return 'event' in trigger ? `${trigger.event} came for ${name} on ${time}` : `${name} was added on ${time}`
}

/** `liveAt`: when the message first went live (ms UTC), where that is known. */
function sayNever(whom: Whom, message: MessageRow, causes: Causes & { liveAt: number | null }): string {
  const { status, content, updatedAt } = message
  if (status === 'draft') return 'It is a draft, and is sent to nobody.'
  if (causes.last === null) return sayNoCause(whom, content.trigger, causes.near)
  const { at, cameAt } = causes.last
  const came = sayCause(whom, content, at)
  if (at < cameAt - TRIGGER_AGE_MS)
    return `${came}, and was told only on ${sayTime(cameAt, whom.zone)}. What is so old starts no mail.`
  if (status === 'paused') return `${came}. The message is paused.`
  if (causes.liveAt !== null && cameAt < causes.liveAt)
    return `${came}. The message went live only on ${sayTime(causes.liveAt, whom.zone)}.`
  return cameAt < updatedAt
    ? `${came}. The message was not live then, or said something else: it was last changed on ${sayTime(updatedAt, whom.zone)}.`
    : `${came}. Nothing that is stored says why no mail was queued.`
}

function sayNoCause({ person, zone }: Whom, trigger: Trigger, near: EventRow | null): string {
  const name = sayName(person)
  if ('page' in trigger) return `${name} has not opened ${trigger.page}.`
  if ('tag' in trigger) return sayTagCause(person, trigger.tag)
  if (!('event' in trigger)) return ''
  if (near === null) return `${trigger.event} has not come for ${name}.`
  const properties = parseProperties(near.properties)
  const broken = trigger.where?.find((condition) => !compares(propertyOf(properties, condition.property), condition))
  const came = `${trigger.event} came for ${name} on ${sayTime(near.occurredAt, zone)}`
  return broken ? `${came}, but ${sayBroken(broken, properties)}.` : `${came}.`
}

function sayBroken(condition: Condition, properties: Record<string, unknown>): string {
  const value = propertyOf(properties, condition.property)
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  const had = value === undefined || value === null ? 'missing' : sayValue(isPlain ? value : JSON.stringify(value))
  return `its ${sayValue(condition.property)} was ${had}, and this message asks for ${sayCompared(condition)}`
}

const sayTagCause = (person: ContactRow, tag: string): string =>
  person.tags?.includes(tag)
    ? `${sayName(person)} has the tag ${sayValue(tag)}, but did not get it while this message was live.`
    : `${sayName(person)} does not have the tag ${sayValue(tag)}.`

type Reached = { delivery: DeliveryRow; message: MessageRow }

/** What came again, and found that the message was sent or on its way already. */
function sayUsedUp(whom: Whom, { delivery, message }: Reached, { last }: Causes): string {
  const { again = { once: 'person' }, trigger } = message.content
  const isFree = delivery.handedAt === null && (delivery.state === 'skipped' || delivery.state === 'failed')
  if (isFree || last === null || last.at <= delivery.triggeredAt || 'contact' in trigger) return ''
  const how =
    'everyHours' in again
      ? `at most every ${again.everyHours} hours`
      : again.once === 'person'
        ? 'once to a person'
        : `once for each ${sayValue(again.property)}`
  return `Since then ${sayCause(whom, message.content, last.at)}, but this message is sent ${how}.`
}
