import type { MessageContent } from '../../store/message-types.ts'
import type { PersonFacts } from '../../store/simulation-people.ts'
import type { SimulationReads } from '../../store/simulation-reads.ts'
import { makeTemplateScope } from '../../messages/template-scope.ts'
import { DEFAULT_PLACE, type Place } from '../../messages/template-values.ts'
import { fillTemplate, showValues } from '../../messages/templates.ts'
import { type TemplateFault } from '../../messages/template-faults.ts'
import { listSources, shapeOf, variablesOf, type Variables } from './shapes.ts'
import type { Alike, Today } from './today.ts'
import { byTime, type Triggered } from './triggers.ts'

/** So many emails with conditions are filled in, of 50 microseconds each, for so long; nobody can wait for the others. */
export const FILLED_MOST = 20_000
const FILLED_MS = 5_000

type Reads = Pick<SimulationReads, 'appOf'> & { personOf(contactId: number): PersonFacts | null }
type Asked = { appId: number; content: Pick<MessageContent, 'mail'>; today: Pick<Today, 'alikeOf'> }

const same = (text: string): string => text

/**
 * Whether mails could have been written, with the values that people have today. What a mail of plain values lacks depends
 * on which of them are there, and is found out once for all who have the same ones; any other is filled in for each.
 */
export function createTrials(reads: Reads, { appId, content: { mail }, today }: Asked) {
  const sources = listSources(mail)
  const app = reads.appOf(appId) ?? { name: '', homeUrl: null, ...DEFAULT_PLACE }
  const fill: Fill = (contact, event, events) => {
    const facts = { contact, event, events, app, unsubscribeUrl: 'https://example.com/unsubscribe' }
    return findFault(sources, makeTemplateScope(facts), app)
  }
  const counted = { filled: 0, filledMs: 0, untried: 0 }
  const variables = variablesOf(mail)
  const tryOne = variables === null ? tryEach(reads, fill, counted) : tryAlike(fill, variables, today)
  return {
    /** Null: it could be written, or nobody knows. */
    findFault: tryOne,
    /** How many mails were too many to be filled in. */
    countUntried: (): number => counted.untried,
  }
}

type Tried = Pick<Triggered, 'id' | 'contactId' | 'occurredAt' | 'properties' | 'parsed'>
type Fill = (contact: PersonFacts, event: Tried, events: Tried[]) => TemplateFault | null
/** Null too of somebody who was erased since. */
type TryOne = (event: Tried, joined: Tried[]) => TemplateFault | null

type Counted = { filled: number; filledMs: number; untried: number }

function tryEach(reads: Reads, fill: Fill, counted: Counted): TryOne {
  return (event, joined) => {
    counted.filled += 1
    const isTried = counted.filled <= FILLED_MOST && counted.filledMs <= FILLED_MS
    const contact = isTried ? reads.personOf(event.contactId) : null
    const startedAt = performance.now()
    const fault = contact && fill(contact, event, [event, ...joined].sort(byTime))
    counted.filledMs += performance.now() - startedAt
    const isSlow = fault !== null && 'slow' in fault
    if (!isTried || isSlow) counted.untried += 1
    return isSlow ? null : fault
  }
}

function tryAlike(fill: Fill, { ofEvents }: Variables, { alikeOf }: Asked['today']): TryOne {
  const known = new Map<string, TemplateFault | null>()
  const find = ({ shape, person }: Alike, event: Tried): TemplateFault | null => {
    const both = `${shape} ${shapeOf(ofEvents, event.parsed)}`
    const found = known.get(both)
    if (found !== undefined) return found
    const fault = fill(person, event, [event])
    known.set(both, fault)
    return fault
  }
  return (trigger) => {
    const alike = alikeOf(trigger.contactId)
    return alike && find(alike, trigger)
  }
}

function findFault(
  sources: readonly string[],
  scope: ReturnType<typeof makeTemplateScope>,
  place: Place,
): TemplateFault | null {
  const filled: string[] = []
  for (const source of sources) {
    const part = fillTemplate(source, scope, { place })
    if (!('filled' in part)) return part
    filled.push(part.filled)
  }
  const isBlank = (text = ''): boolean => showValues(text, { value: same, plain: same }).trim() === ''
  if (isBlank(filled.at(0))) return { missing: 'subject' }
  return isBlank(filled.at(-1)) ? { empty: 'body' } : null
}
