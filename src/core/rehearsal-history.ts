import type { MessageContent, Rule } from '../store/message-types.ts'
import { isSamePath } from '../store/paths.ts'
import type { PersonRow, RehearsalReads } from '../store/rehearsal-reads.ts'
import type { ReportRow } from '../store/snippet-types.ts'
import type { Facts } from './judge.ts'
import { lastReportUntil, PRESENCE_MS, presenceAt, toLostReport } from './presence.ts'

const MINUTE_MS = 60_000

/** What one person did, as far as the message's rules ask: times are ms UTC, `views` alternate with their paths. */
type Person = { views: (number | string)[]; reports: ReportRow[]; done: Map<string, number[]> }
type Someone = Facts['contact']

const NOBODY: Person = { views: [], reports: [], done: new Map() }
const SUBSCRIBED: Someone = { status: 'subscribed', tags: [], fields: {} }

/** The trigger that is judged: set before each, so that a million need no million sets of functions. */
export type Moment = { contactId: number; at: number; triggeredAt: number; resultPath: string | null }

/**
 * Everything that the rules of a message may ask about people, read in one pass a question and kept in memory, as far
 * back as `from` (ms UTC). Tags, fields and status are those of today.
 */
export function readHistory(
  reads: RehearsalReads,
  {
    appId,
    content,
    from,
    isTriggered,
  }: { appId: number; content: MessageContent; from: number; isTriggered: (contactId: number) => boolean },
) {
  const { onlyIf = [] } = content
  const people = new Map<number, Person>()
  const personOf = (contactId: number): Person | null => {
    if (!isTriggered(contactId)) return null
    const known = people.get(contactId)
    if (known) return known
    const made: Person = { views: [], reports: [], done: new Map() }
    people.set(contactId, made)
    return made
  }
  const range = { appId, from: from - quietestMs(onlyIf) }
  if (onlyIf.some(({ rule }) => rule === 'away' || rule === 'seen' || rule === 'notSeen')) {
    for (const { contactId, path, occurredAt } of reads.eachHappening(range, null)) {
      if (path !== null) personOf(contactId)?.views.push(occurredAt, path)
    }
    for (const { contactId, isHere, ...report } of reads.eachReport(appId)) {
      personOf(contactId)?.reports.push({ ...report, isHere: isHere === null ? null : isHere === 1 })
    }
  }
  for (const name of namesOf(onlyIf)) {
    const asked = { ...range, from: isAskedForEver(onlyIf, name) ? 0 : from - longestMs(onlyIf) }
    for (const { contactId, occurredAt } of reads.eachHappening(asked, name)) {
      const person = personOf(contactId)
      if (person) addTo(person.done, name, occurredAt)
    }
  }
  const today = new Map<number, Someone>()
  const isSettled = !onlyIf.some(({ rule }) => rule === 'tag' || rule === 'field')
  for (const { id, ...person } of reads.eachPerson(appId, isSettled)) today.set(id, pickToday(person))
  return (moment: Moment): Facts => factsOf(moment, people.get(moment.contactId) ?? NOBODY, today.get(moment.contactId))
}

const pickToday = ({ status, tags, fields }: Omit<PersonRow, 'id'>): Someone => ({ status, tags, fields })

function factsOf({ at, triggeredAt, resultPath }: Moment, person: Person, today: Someone = SUBSCRIBED): Facts {
  const first = person.views[0]
  return {
    at,
    triggeredAt,
    resultPath,
    contact: today,
    firstViewAt: typeof first === 'number' ? first : null,
    presence: (when, quietMs) => presenceAt(reportsOf(person, when), when, quietMs),
    viewedAt: (path, since) => findView(person, path, since, at),
    doneAt: (name, since) => findDone(person.done.get(name), since, triggeredAt, at),
  }
}

/** As live facts have it: reports where they are kept, and views that no report until then follows. */
function reportsOf({ reports, views }: Person, when: number): readonly ReportRow[] {
  const lastAt = lastReportUntil(reports, when)
  const lost: ReportRow[] = []
  for (let index = 0; index < views.length; index += 2) {
    const [reportedAt, path] = [Number(views[index]), String(views[index + 1])]
    if (reportedAt > lastAt && reportedAt <= when) lost.push(toLostReport({ path, occurredAt: reportedAt }))
  }
  return lost.length === 0 ? reports : [...reports, ...lost]
}

function findView({ views }: Person, path: string, since: number, until: number): number | null {
  let found: number | null = null
  for (let index = 0; index < views.length; index += 2) {
    const at = Number(views[index])
    if (at < since || at > until || (found !== null && at >= found)) continue
    if (isSamePath(String(views[index + 1]), path)) found = at
  }
  return found
}

/** The latest; one at the very moment of the trigger is the trigger itself. */
function findDone(times: number[] | undefined, since: number, triggeredAt: number, until: number): number | null {
  const within = (times ?? []).filter((at) => at >= since && at <= until && at !== triggeredAt)
  return within.length === 0 ? null : Math.max(...within)
}

function addTo(map: Map<string, number[]>, name: string, at: number): void {
  const known = map.get(name)
  if (known) known.push(at)
  else map.set(name, [at])
}

type Done = Extract<Rule, { event: string }>
const isDone = (rule: Rule): rule is Done => rule.rule === 'done' || rule.rule === 'notDone'
const namesOf = (rules: readonly Rule[]): Set<string> => new Set(rules.filter(isDone).map(({ event }) => event))
const isAskedForEver = (rules: readonly Rule[], name: string): boolean =>
  rules.filter(isDone).some(({ event, since }) => event === name && since === 'ever')
const longestMs = (rules: readonly Rule[]): number =>
  Math.max(
    0,
    ...rules.filter(isDone).map(({ since }) => (typeof since === 'object' ? since.days * 1_440 * MINUTE_MS : 0)),
  )
const quietestMs = (rules: readonly Rule[]): number =>
  Math.max(PRESENCE_MS, ...rules.map((rule) => (rule.rule === 'away' ? (rule.quietMinutes ?? 0) * MINUTE_MS : 0)))
