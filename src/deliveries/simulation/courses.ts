import { type Again, LISTED_EVENTS, type Verdict } from '../../store/message-types.ts'
import { collectMsOf, isPerPerson } from '../../store/triggers.ts'
import { stopReasonOf } from '../judge.ts'
import type { createAgain } from './again.ts'
import type { createDecisions, Decided } from './decisions.ts'
import type { LeadsSince, Stop } from './history.ts'
import { byTime, type Triggered } from './triggers.ts'

/** An email on its way. `lead` is the event by which it is judged, `joined` are the further events that it would list. */
type Course = {
  lead: Triggered
  joined: Triggered[]
  leadsSince: LeadsSince
  dueAt: number
  giveUpAt: number
  /** of the last time when it was judged */
  verdicts: Verdict[]
  /** what it came to; null while it waits */
  decided: Decided | null
}

/** What came, before which an email goes on; null: as far as it is known. */
type Until = Pick<Triggered, 'id' | 'at'> | null

/** Of what became of one event; once for each. */
export type Note = (event: Triggered, decided: Decided) => void

type Parts = {
  again: Again | undefined
  once: ReturnType<typeof createAgain>
  decisions: ReturnType<typeof createDecisions>
  now: number
  note: Note
}

/** Emails that ended are looked for when so many more are on their way. */
const SWEPT_AT = 10_000

/** Emails take their course as they would have live: each event starts one, joins one that waits, or neither. */
export function createCourses({ again, once, decisions, now, note }: Parts) {
  const collectMs = collectMsOf(again)
  const isOfPerson = isPerPerson(again)
  const waiting = new Map<number, Course[]>()
  let [count, sweptAt] = [0, SWEPT_AT]

  const endOne = (event: Triggered, decided: Decided): void => {
    if (!isOfPerson) once.use(event, { ...decided, isSent: false })
    note(event, decided)
  }

  /** All of it, also what joined: that is in the email, or ended as it did. */
  const endAll = (course: Course, decided: Decided): void => {
    const { lead, joined } = course
    const isSent = decided.outcome === 'send'
    const isListed = isSent || decided.outcome === 'waiting'
    course.decided = decided
    note(lead, decided)
    once.use(lead, { ...decided, isSent })
    for (const event of joined) {
      if (!isOfPerson) once.use(event, { ...decided, isSent })
      note(event, isListed ? { outcome: 'joined', at: event.at, verdicts: [] } : { ...decided, verdicts: [] })
    }
  }

  const drop = (course: Course, event: Triggered, decided: Decided): void => {
    course.joined = course.joined.filter((one) => one !== event)
    endOne(event, decided)
  }

  /** The lead ends, and what was about it alone leaves the email to the oldest of the others. */
  const endLead = (course: Course, decided: Decided, leadsSince: LeadsSince): void => {
    const [heir] = decided.isOfEvent ? course.joined.toSorted(byTime) : []
    if (!heir) return endAll(course, decided)
    endOne(course.lead, decided)
    course.joined = course.joined.filter((one) => one !== heir)
    Object.assign(course, { lead: heir, leadsSince, verdicts: [] })
  }

  /** Events that a rule about each of them stopped by then are taken out, before anything else is done about what came. */
  const dropStopped = (
    course: Course,
    heardUntil: number,
    isMeant: (stop: { id: number; at: number }) => boolean,
  ): void => {
    for (const event of decisions.asksEach ? course.joined : []) {
      const stop = decisions.findStop(event, course.dueAt, { heardUntil, leadsSince: null })
      if (stop && isMeant(stop)) drop(course, event, toDecided(stop))
    }
  }

  const judge = (course: Course): void => {
    const at = course.dueAt
    const joined = course.joined.toSorted(byTime).slice(0, LISTED_EVENTS - 1)
    const { unfit, ...decided } = decisions.judge({ ...course, joined }, at)
    for (const [event, dropped] of unfit) drop(course, event, dropped)
    course.verdicts = decided.verdicts
    if (decided.outcome === 'waiting') course.dueAt = decided.at
    else if (decided.outcome === 'send') endAll(course, decided)
    else endLead(course, decided, { id: 0, at })
  }

  /** As far as it goes before something came: what came in the millisecond in which it is judged came before that. */
  const advance = (course: Course, until: Until): void => {
    const isBefore = ({ id, at }: { id: number; at: number }): boolean =>
      until === null || at < until.at || (at === until.at && id <= until.id)
    while (course.decided === null) {
      const { lead, dueAt, leadsSince } = course
      const heardUntil = Math.min(dueAt, now, until?.at ?? now)
      const stop = decisions.findStop(lead, dueAt, { heardUntil, leadsSince })
      const isStopped = stop !== null && isBefore(stop)
      dropStopped(course, heardUntil, (one) => isBefore(one) && (!isStopped || one.id <= stop.id))
      if (isStopped) endLead(course, toDecided(stop), { id: stop.id, at: 0 })
      else if (until !== null && dueAt >= until.at) return
      else if (dueAt > now) endAll(course, { outcome: 'waiting', at: dueAt, verdicts: course.verdicts })
      else judge(course)
    }
  }

  const start = (lead: Triggered, dueAt: number): Course => {
    const leadsSince = { id: lead.id, at: 0 }
    const giveUpAt = decisions.giveUpAt(dueAt)
    return { lead, joined: [], leadsSince, dueAt, giveUpAt, verdicts: [], decided: null }
  }

  /** Those of a person that wait when something comes. */
  const stillWaiting = (event: Triggered): Course[] => {
    const courses = waiting.get(event.contactId) ?? []
    for (const course of courses) advance(course, event)
    return courses.filter(({ decided }) => decided === null)
  }

  const keep = (contactId: number, courses: Course[]): void => {
    if (courses.length === 0) waiting.delete(contactId)
    else waiting.set(contactId, courses)
  }

  /** Otherwise the last email of everybody would be kept until the end. */
  const sweep = (event: Triggered): void => {
    count = 0
    for (const contactId of waiting.keys()) keep(contactId, stillWaiting({ ...event, contactId }))
    for (const courses of waiting.values()) count += courses.length
    sweptAt = Math.max(SWEPT_AT, 2 * count)
  }

  const refuse = (event: Triggered, at: number): void => note(event, { outcome: 'again', at, verdicts: [] })

  const takeAlone = (event: Triggered, dueAt: number): void => {
    if (once.isFree(event, dueAt)) advance(start(event, dueAt), null)
    else refuse(event, dueAt)
  }

  const takeTogether = (event: Triggered, dueAt: number, withinMs: number): void => {
    const courses = stillWaiting(event)
    const [lead] = courses
      .filter((course) => Math.abs(course.lead.occurredAt - event.occurredAt) <= withinMs)
      .toSorted((a, b) => a.lead.id - b.lead.id)
    if (!(isOfPerson && lead) && !once.isFree(event, dueAt)) refuse(event, dueAt)
    else {
      // until it is known what became of it
      once.use(event, { at: Number.POSITIVE_INFINITY, isSent: false })
      if (lead) lead.joined.push(event)
      else courses.push(start(event, dueAt))
      count += lead ? 0 : 1
    }
    keep(event.contactId, courses)
    if (count > sweptAt) sweep(event)
  }

  return {
    /** In the order in which they came; `dueAt` is when an email that it starts is due (ms UTC). */
    take: (event: Triggered, dueAt: number): void =>
      collectMs === null ? takeAlone(event, dueAt) : takeTogether(event, dueAt, collectMs),

    /** All that is on its way. */
    finish(): void {
      for (const course of [...waiting.values()].flat()) advance(course, null)
      waiting.clear()
    },
  }
}

const toDecided = ({ id, at, verdict, isOfEvent }: Stop): Decided => ({
  outcome: stopReasonOf(verdict),
  at,
  byId: id,
  isOfEvent,
  verdicts: [verdict],
})
