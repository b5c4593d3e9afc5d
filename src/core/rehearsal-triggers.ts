/** What would have triggered a message, as it is stored: for a rehearsal (messages.md). */
import { allHold, parseProperties, propertyOf } from '../store/conditions.ts'
import type { MessageContent } from '../store/message-types.ts'
import { isPathLike, pathOfUrl } from '../store/paths.ts'
import type { RehearsalReads } from '../store/rehearsal-reads.ts'
import { onceKeyOf } from '../store/triggers.ts'

/** `at` is ms UTC; `key` is what "once" counts by, and names the person; `properties` are an event's, as JSON. */
export type Triggered = { contactId: number; at: number; properties: string | null; key: number | string }

/** `from`: ms UTC. */
type Range = { appId: number; from: number }

/** Whoever may be among those whom it was triggered for: more is read of them, and remembered, than of others. */
export function readPeople(reads: RehearsalReads, range: Range, content: MessageContent): Set<number> {
  const { trigger } = content
  const found = 'event' in trigger ? reads.eachHappening(range, trigger.event) : readTriggers(reads, range, content)
  const people = new Set<number>()
  for (const { contactId } of found) people.add(contactId)
  return people
}

/** In the order in which they came, one by one: a million at once would take longer to keep than to judge. */
export function readTriggers(reads: RehearsalReads, range: Range, content: MessageContent): Iterable<Triggered> {
  const { trigger } = content
  if ('contact' in trigger) return readCreated(reads, range)
  if ('page' in trigger) return readViews(reads, range, trigger.page)
  return 'event' in trigger ? readEvents(reads, range, content, trigger) : []
}

/** Without an event, "once" can only be once per person. */
function* readCreated(reads: RehearsalReads, range: Range): Generator<Triggered> {
  for (const { id, createdAt } of reads.eachCreated(range)) {
    yield { contactId: id, at: createdAt, properties: null, key: id }
  }
}

function* readViews(reads: RehearsalReads, range: Range, pattern: string): Generator<Triggered> {
  for (const { contactId, path, occurredAt: at } of reads.eachHappening(range, null)) {
    if (path !== null && isPathLike(path, pattern)) yield { contactId, at, properties: null, key: contactId }
  }
}

type OnEvent = Extract<MessageContent['trigger'], { event: string }>

function* readEvents(
  reads: RehearsalReads,
  range: Range,
  { again }: MessageContent,
  { event, where }: OnEvent,
): Generator<Triggered> {
  // of a million events, taking properties apart that nobody asks for would be most of the time
  const asks = where !== undefined || (again !== undefined && 'property' in again)
  for (const { contactId, properties, occurredAt: at } of reads.eachTrigger(range, event)) {
    const parsed = asks ? parseProperties(properties) : {}
    if (where && !allHold(where, parsed)) continue
    const onceKey = onceKeyOf(again, () => parsed)
    yield { contactId, at, properties, key: onceKey === '' ? contactId : `${contactId} ${onceKey}` }
  }
}

/** The path of the `url` of what triggered, where a rule asks for it. */
export function readResultPath({ onlyIf = [] }: MessageContent, { properties }: Triggered): string | null {
  const asksUrl = onlyIf.some(({ rule }) => rule === 'seen' || rule === 'notSeen')
  return asksUrl ? pathOfUrl(propertyOf(parseProperties(properties), 'url')) : null
}
