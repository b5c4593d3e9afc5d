import {
  createTimeline,
  findArrival,
  findFirst,
  findLast,
  sortTimeline,
  type Happened,
  type Timeline,
} from './timeline.ts'
import { isOfEvent, sinceWhen, stoppedBy } from '../../store/stops.ts'
import type { MessageContent, Rule, Verdict } from '../../store/message-types.ts'
import { isSamePath } from '../../store/paths.ts'
import type { SimulationReads } from '../../store/simulation-reads.ts'
import type { ReportRow } from '../../store/snippet-types.ts'
import type { Facts } from '../judge.ts'
import { PRESENCE_MS } from '../../visits/presence.ts'
import { isLate, type Known, pastPresence, reportedSince } from './presence.ts'
import type { Today } from './today.ts'
import type { People } from './triggers.ts'

const MINUTE_MS = 60_000

/** What one person did, as far as the message's rules ask; reports are by when they were made, `returns` are some of them. */
export type Person = {
  views: Timeline
  returns: Timeline
  reports: ReportRow[]
  late: ReportRow[]
  done: Map<string, Timeline>
}

const createPerson = (): Person => ({
  views: createTimeline(),
  returns: createTimeline(),
  reports: [],
  late: [],
  done: new Map(),
})
const NOBODY = createPerson()

/** A trigger, and when it is due and is judged (`at`): what came until then is known. Times are ms UTC. */
export type Moment = {
  /** of what triggered it */
  id: number
  contactId: number
  triggeredAt: number
  dueAt: number
  at: number
  resultPath: string | null
}

type Asked = {
  appId: number
  content: MessageContent
  /** ms UTC */
  from: number
  now: number
  people: People
  today: Pick<Today, 'contactOf'>
}

/**
 * Everything that the rules of a message may ask about people, read in one pass a question and kept in memory, as far
 * back as `from`.
 */
export function readHistory(reads: SimulationReads, asked: Asked) {
  const { appId, content, from, now, people, today } = asked
  const { onlyIf = [] } = content
  const kept = createKept(people)
  const known = { reportedSince: reportedSince(now), lookbackMs: lookbackMs(onlyIf) }
  const looks = onlyIf.some(({ rule }) => rule === 'away' || rule === 'seen' || rule === 'notSeen')
  if (looks) readVisits(reads, kept, { appId, from }, known)
  readDone(reads, kept, asked)
  kept.sort()
  const firstViewOf = looks ? readFirstViews(reads, kept, people) : () => null
  return {
    /** What stopped it before it was judged. */
    stopOf: (moment: Moment, leadsSince: LeadsSince | null): Stop | null =>
      findStop(content, { ...moment, leadsSince }, kept.find(moment.contactId)),

    factsOf(moment: Moment): Facts {
      const person = kept.find(moment.contactId)
      const firstViewAt = firstViewOf(moment, person)
      return toFacts(moment, { person, contact: today.contactOf(moment.contactId), known, firstViewAt })
    },
  }
}

type Range = { appId: number; from: number }
type Kept = ReturnType<typeof createKept>

function createKept(people: People) {
  const kept = new Map<number, Person>()
  return {
    find: (contactId: number): Person => kept.get(contactId) ?? NOBODY,
    /** Null of those about whom nobody asks. */
    keep(contactId: number): Person | null {
      if (!people.has(contactId)) return null
      const known = kept.get(contactId)
      if (known) return known
      const made = createPerson()
      kept.set(contactId, made)
      return made
    },
    /** After all was read. */
    sort(): void {
      for (const person of kept.values()) {
        const { views, returns, reports, done } = person
        for (const timeline of [views, returns, ...done.values()]) sortTimeline(timeline)
        reports.sort((a, b) => a.reportedAt - b.reportedAt)
        person.late = reports.filter(isLate)
      }
    },
  }
}

/** Reports that are about to be deleted, or were only kept for a mail that waits, would judge some old events otherwise. */
function readVisits(reads: SimulationReads, kept: Kept, { appId, from }: Range, known: Known): void {
  for (const { contactId, ...view } of reads.eachHappening({ appId, from: from - known.lookbackMs }, null)) {
    if (view.path !== null) kept.keep(contactId)?.views.byArrival.push(view)
  }
  for (const { contactId, id, ...report } of reads.eachReport(appId)) {
    if (report.receivedAt < known.reportedSince) continue
    const person = kept.keep(contactId)
    person?.reports.push(report)
    const { receivedAt: at, reportedAt: occurredAt, path } = report
    if (report.isReturn) person?.returns.byArrival.push({ id, at, occurredAt, path })
  }
}

function readDone(reads: SimulationReads, kept: Kept, { appId, content: { onlyIf = [] }, from }: Asked): void {
  for (const name of namesOf(onlyIf)) {
    const range = { appId, from: isAskedForEver(onlyIf, name) ? 0 : from - longestMs(onlyIf) }
    for (const { contactId, ...event } of reads.eachHappening(range, name)) {
      const person = kept.keep(contactId)
      if (person) addTo(person.done, name, event)
    }
  }
}

type Seen = Pick<Happened, 'at' | 'occurredAt'>

/** Somebody may have been seen first long before what is read: of most people with a view that is not asked. */
function readFirstViews(reads: SimulationReads, kept: Kept, { ids }: People) {
  const ever = new Map<number, Seen[]>()
  const unseen = ids.filter((contactId) => kept.find(contactId).views.byArrival.length === 0)
  for (const { contactId, ...seen } of reads.eachFirstViewOf(unseen)) ever.set(contactId, [seen])
  const lookUp = (contactId: number): Seen[] => {
    const known = ever.get(contactId) ?? reads.firstViewsOf(contactId)
    ever.set(contactId, known)
    return known
  }
  return ({ contactId, triggeredAt, at }: Moment, { views, returns }: Person): number | null => {
    const range = { since: 0, heardUntil: at }
    const read = findFirst(views, range, () => true)
    if (read && read.occurredAt <= triggeredAt) return read.occurredAt
    const first = views.byArrival.length === 0 ? (ever.get(contactId) ?? []) : lookUp(contactId)
    return firstTime([...first.filter((seen) => seen.at <= at), findFirst(returns, range, () => true)])
  }
}

type Read = Pick<Facts, 'firstViewAt'> & { person: Person; contact: Facts['contact']; known: Known }

function toFacts({ id, at, triggeredAt, resultPath }: Moment, { person, contact, known, firstViewAt }: Read): Facts {
  const { views, returns, reports, late, done } = person
  return {
    at,
    triggeredAt,
    resultPath,
    contact,
    firstViewAt,
    presence: (when, quietMs) =>
      pastPresence({ views, reports, late }, { when, triggeredAt, quietMs, heardUntil: at }, known),
    viewedAt: (path, since) => {
      const isMeant = (visit: Happened) => visit.path !== null && isSamePath(visit.path, path)
      return firstTime([views, returns].map((visits) => findFirst(visits, { since, heardUntil: at }, isMeant)))
    },
    doneAt: (name, since) => {
      const timeline = done.get(name)
      return (timeline && findLast(timeline, { since, heardUntil: at }, id)?.occurredAt) ?? null
    },
  }
}

/** When the first of these happened (ms UTC); null = none did. */
function firstTime(found: readonly (Pick<Happened, 'occurredAt'> | null)[]): number | null {
  const times = found.flatMap((one) => (one === null ? [] : [one.occurredAt]))
  return times.length === 0 ? null : Math.min(...times)
}

function addTo(done: Map<string, Timeline>, name: string, event: Happened): void {
  const timeline = done.get(name) ?? createTimeline()
  timeline.byArrival.push(event)
  done.set(name, timeline)
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
/** How long before a moment something may count for where somebody was then. */
const lookbackMs = (rules: readonly Rule[]): number =>
  Math.max(
    PRESENCE_MS,
    ...rules.map((rule) =>
      rule.rule === 'away' ? Math.max(rule.quietMinutes ?? 0, rule.minutes ?? 0) * MINUTE_MS : 0,
    ),
  )

/** What settled a delivery while it waited, and when that came (ms UTC). `isOfEvent`: it is about this event alone. */
export type Stop = { id: number; at: number; verdict: Verdict; isOfEvent: boolean }

/**
 * Since when an event is the one by which its email is judged: what came after this id, and after this time (ms UTC). Of
 * one that only joined an email only the rules about each event are asked.
 */
export type LeadsSince = { id: number; at: number }

type Course = Moment & { leadsSince: LeadsSince | null }

/** The first visit or event that stopped it between when it came and when it was judged, as live (stops.ts). */
function findStop({ onlyIf = [] }: Pick<MessageContent, 'onlyIf'>, moment: Course, person: Person): Stop | null {
  return firstOf(onlyIf.map((rule) => stopOf(rule, moment, person)))
}

/** The one that came first. */
const firstOf = (stops: (Stop | null)[]): Stop | null =>
  stops.reduce((first, stop) => (first === null || (stop !== null && stop.id < first.id) ? stop : first), null)

function stopOf(rule: Rule, moment: Course, { views, returns, done }: Person): Stop | null {
  const { triggeredAt, resultPath, dueAt, leadsSince } = moment
  const range = { afterId: moment.id, heardUntil: moment.at }
  if (rule.rule === 'notSeen' && resultPath !== null) {
    const isResult = ({ occurredAt, path }: Happened) =>
      occurredAt >= triggeredAt && path !== null && isSamePath(path, resultPath)
    const found = [views, returns].map((visits) => toStop(rule, resultPath, findArrival(visits, range, isResult)))
    return firstOf(found)
  }
  const timeline = rule.rule === 'notDone' ? done.get(rule.event) : undefined
  if (rule.rule !== 'notDone' || timeline === undefined) return null
  const from = isOfEvent(rule) ? { id: moment.id, at: 0 } : leadsSince
  if (from === null) return null
  const since = sinceWhen(rule.since, triggeredAt, dueAt)
  const isMeant = ({ at, occurredAt }: Happened): boolean => at > from.at && occurredAt >= since
  const afterId = Math.max(moment.id, from.id)
  return toStop(rule, rule.event, findArrival(timeline, { ...range, afterId }, isMeant))
}

const toStop = (rule: Rule, about: string, found: Happened | null): Stop | null =>
  found && {
    id: found.id,
    at: found.at,
    verdict: stoppedBy(rule, about, found.occurredAt),
    isOfEvent: isOfEvent(rule),
  }
