import type { MessageContent, Rule, Verdict } from '../../store/message-types.ts'
import { isSamePath } from '../../store/paths.ts'
import { sinceWhen, stoppedBy } from '../../store/stops.ts'
import type { Moment, Person } from './history.ts'
import { findArrival, type Happened } from './timeline.ts'

/** What settled a delivery while it waited, and when that came (ms UTC). */
export type Stop = { id: number; at: number; verdict: Verdict }

/**
 * Since when an event is the one by which its email is judged: what came after this id, and after this time (ms UTC). Of
 * one that only joined an email nothing but its own page is asked.
 */
export type LeadsSince = { id: number; at: number }

type Asked = Moment & { leadsSince: LeadsSince | null }

/** The first visit or event that stopped it between when it came and when it was judged, as live (stops.ts). */
export function findStop({ onlyIf = [] }: Pick<MessageContent, 'onlyIf'>, moment: Asked, person: Person): Stop | null {
  return firstOf(onlyIf.map((rule) => stopOf(rule, moment, person)))
}

/** The one that came first. */
const firstOf = (stops: (Stop | null)[]): Stop | null =>
  stops.reduce((first, stop) => (first === null || (stop !== null && stop.id < first.id) ? stop : first), null)

function stopOf(rule: Rule, moment: Asked, { views, returns, done }: Person): Stop | null {
  const { triggeredAt, resultPath, dueAt, leadsSince } = moment
  const range = { afterId: moment.id, heardUntil: moment.at }
  if (rule.rule === 'notSeen' && resultPath !== null) {
    const isResult = ({ occurredAt, path }: Happened) =>
      occurredAt >= triggeredAt && path !== null && isSamePath(path, resultPath)
    const found = [views, returns].map((visits) => toStop(rule, resultPath, findArrival(visits, range, isResult)))
    return firstOf(found)
  }
  const timeline = rule.rule === 'notDone' ? done.get(rule.event) : undefined
  if (rule.rule !== 'notDone' || timeline === undefined || leadsSince === null) return null
  const since = sinceWhen(rule.since, triggeredAt, dueAt)
  const isMeant = ({ at, occurredAt }: Happened): boolean => at > leadsSince.at && occurredAt >= since
  const afterId = Math.max(moment.id, leadsSince.id)
  return toStop(rule, rule.event, findArrival(timeline, { ...range, afterId }, isMeant))
}

const toStop = (rule: Rule, about: string, found: Happened | null): Stop | null =>
  found && { id: found.id, at: found.at, verdict: stoppedBy(rule, about, found.occurredAt) }
