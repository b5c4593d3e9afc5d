/** What would have triggered a message, as it is stored: for a simulation. */
import { allHold, parseProperties, propertyOf } from '../../store/conditions.ts'
import type { MessageContent } from '../../store/message-types.ts'
import { isPathLike, pathOfUrl } from '../../store/paths.ts'
import type { SimulationReads } from '../../store/simulation-reads.ts'
import { isTooOld, onceValueOf } from '../../store/triggers.ts'

/**
 * When it came (`at`) and when it had happened, ms UTC; `properties` are an event's, as JSON, and `parsed` the same when
 * somebody asks for it; `onceValue` is what "once per property" goes by, null where the person alone counts.
 */
export type Triggered = {
  /** of the event, or where there is none of the person: one sequence numbers both */
  id: number
  contactId: number
  at: number
  occurredAt: number
  properties: string | null
  parsed: () => Record<string, unknown>
  onceValue: string | null
}

/** By when it happened. */
export const byTime = (a: Pick<Triggered, 'id' | 'occurredAt'>, b: Pick<Triggered, 'id' | 'occurredAt'>): number =>
  a.occurredAt - b.occurredAt || a.id - b.id

/** Whoever may be among those whom a message was triggered for; `ids` are ascending. */
export type People = { ids: readonly number[]; has(contactId: number): boolean }

/** `from`: ms UTC. */
type Range = { appId: number; from: number }

/** More is read of them, and remembered, than of others. */
export function readPeople(reads: SimulationReads, range: Range, content: MessageContent): People {
  const { trigger } = content
  const found = 'event' in trigger ? reads.eachContactWith(range, trigger.event) : readTriggers(reads, range, content)
  const people = new Set<number>()
  for (const { contactId } of found) people.add(contactId)
  // as numbers, not as texts
  return { ids: Array.from(Float64Array.from(people).sort()), has: (contactId) => people.has(contactId) }
}

/** In the order in which they came, one by one: a million at once would take longer to keep than to judge. */
export function readTriggers(reads: SimulationReads, range: Range, content: MessageContent): Iterable<Triggered> {
  const { trigger } = content
  if ('contact' in trigger) return readCreated(reads, range)
  if ('page' in trigger) return readViews(reads, range, trigger.page)
  return 'event' in trigger ? readEvents(reads, range, content, trigger) : []
}

const WITHOUT_EVENT = { properties: null, parsed: () => ({}), onceValue: null }

/** Without an event, "once" can only be once per person. */
function* readCreated(reads: SimulationReads, range: Range): Generator<Triggered> {
  for (const { id, createdAt } of reads.eachCreated(range)) {
    yield { ...WITHOUT_EVENT, id, contactId: id, at: createdAt, occurredAt: createdAt }
  }
}

function* readViews(reads: SimulationReads, range: Range, pattern: string): Generator<Triggered> {
  for (const { id, contactId, path, at, occurredAt } of reads.eachHappening(range, null)) {
    if (path === null || !isPathLike(path, pattern) || isTooOld({ at, occurredAt })) continue
    yield { ...WITHOUT_EVENT, id, contactId, at, occurredAt }
  }
}

type OnEvent = Extract<MessageContent['trigger'], { event: string }>

function* readEvents(
  reads: SimulationReads,
  range: Range,
  { again }: MessageContent,
  { event, where }: OnEvent,
): Generator<Triggered> {
  const isByProperty = again !== undefined && 'property' in again
  for (const { id, contactId, properties, at, occurredAt } of reads.eachTrigger(range, event)) {
    if (isTooOld({ at, occurredAt })) continue
    const parsed = parseOnce(properties)
    if (where && !allHold(where, parsed())) continue
    const value = isByProperty ? onceValueOf(again, parsed()) : null
    const onceValue = value === null ? null : toText(value)
    yield { id, contactId, at, occurredAt, properties, parsed, onceValue }
  }
}

/** Another for each value. Most are texts already. */
const toText = (value: unknown): string =>
  typeof value === 'string' && !value.startsWith('\0') ? value : `\0${JSON.stringify(value)}`

/** Of a million events, taking properties apart is most of the time: only where somebody asks, and once. */
function parseOnce(properties: string | null): () => Record<string, unknown> {
  let parsed: Record<string, unknown> | null = null
  return () => (parsed ??= parseProperties(properties))
}

/** The path of the `url` of what triggered, where a rule asks for it. */
export function readResultPath({ onlyIf = [] }: MessageContent, { parsed }: Triggered): string | null {
  const asksUrl = onlyIf.some(({ rule }) => rule === 'seen' || rule === 'notSeen')
  return asksUrl ? pathOfUrl(propertyOf(parsed(), 'url')) : null
}
