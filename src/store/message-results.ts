import type { Sql } from './engine/sql.ts'
import { DAY_MS } from '../core/clock.ts'
import { RESTORED } from './delivery-states.ts'

export const EMAIL_OUTCOMES = ['waiting', 'sent', 'kept', 'heldBack', 'skipped', 'failed'] as const
export type EmailOutcome = (typeof EMAIL_OUTCOMES)[number]

/** Of a group of emails or people. */
export type Reached = { cameBack: number; opened: number; reachedGoal: number }

/** Emails of one day (days since 1970 UTC) by the day of their creation. `reason`: of skipped and failed ones. */
export type DayCount = Reached & { day: number; outcome: EmailOutcome; reason: string; emails: number }

/** People of whom it was first decided in the range whether they are emailed. */
export type ComparedCount = Reached & { isHeldBack: boolean; people: number }

/** First and last day, as days since 1970 UTC. */
export type DayRange = { from: number; until: number }

/** Emails, by what became of them after they were sent. */
export type ReportCounts = { delivered: number; bounced: number; complained: number }

export type MessageResults = { days: DayCount[]; compared: ComparedCount[]; reports: ReportCounts }

/** Of a message and day. `unsent`: ended otherwise, for any reason; `captured`: those of them that were captured. */
export type AppDayCount = {
  messageId: number
  day: number
  sent: number
  cameBack: number
  unsent: number
  captured: number
  waiting: number
}

/**
 * Each person once. `cameBack`: after any email. `ofEarlier`: of those who came back, people not emailed in the range; 0
 * if too many came back to look at each. `seen`: an email was not sent, because they had opened the result.
 */
export type PeopleCounts = { emailed: number; cameBack: number; ofEarlier: number; seen: number }

/** Emails that somebody has to look at. `failed`: created in the range. Others are counted up to a limit. */
export type ProblemCounts = {
  failed: number
  captured: number
  unknown: number
  restored: number
  unfit: UnfitCount[]
}

/** Emails of a message that were skipped for a reason in it. */
export type UnfitCount = { messageId: number; reason: string; emails: number }

/** `people`: of the range's first day up to now. `compared`: each person once, in the message that decided first. */
export type AppResults = {
  people: PeopleCounts
  /** people by the day of their last return */
  returns: { day: number; people: number }[]
  days: AppDayCount[]
  compared: (ComparedCount & { messageId: number })[]
}

/** More are not counted: the sentence is the same. */
export const MOST_QUEUED = 1_000

const MOST_UNFIT = 5

/** Returns that are looked at one by one (measured: 6 ms with a million people). */
const MOST_RETURNS = 2_000

type StoredCompared = Omit<ComparedCount, 'isHeldBack'> & { isHeldBack: number }

const toCompared = <Stored extends StoredCompared>({ isHeldBack, ...counts }: Stored) => ({
  ...counts,
  isHeldBack: isHeldBack === 1,
})

/** As a number on PostgreSQL too. */
const sumOf = (expression: string): string => `CAST(sum(${expression}) AS bigint)`
const emailsIf = (condition: string): string => sumOf(`CASE WHEN ${condition} THEN emails ELSE 0 END`)

const REACHED = [
  `${sumOf('came_back')} AS "cameBack"`,
  `${sumOf('opened')} AS opened`,
  `${sumOf('reached_goal')} AS "reachedGoal"`,
].join(', ')

/**
 * From counts that triggers keep (measured with a million deliveries of one message: 0.1 ms for 30 days, 0.6 ms for 366;
 * of an app with 200 messages: 10 ms for 30 days).
 */
export function createResultReads(db: Sql) {
  const { crossJoin, joinCounts, joinParts, indexedBy, isOneOfTexts, textsOf } = db.dialect
  const days = db.prepare<DayCount, [number, number, number]>(
    `SELECT day, outcome, reason, emails, came_back AS "cameBack", opened, reached_goal AS "reachedGoal"
     FROM message_days WHERE message_id = ? AND day BETWEEN ? AND ? AND emails > 0 ORDER BY day`,
  )
  const compared = db.prepare<StoredCompared, [number, number, number]>(
    `SELECT is_held_back AS "isHeldBack", ${sumOf('people')} AS people, ${REACHED}
     FROM message_comparisons WHERE message_id = ?1 AND day BETWEEN ?2 AND ?3 GROUP BY is_held_back`,
  )
  const reported = db.prepare<ReportCounts, [number, number, number]>(
    `SELECT coalesce(${sumOf('delivered')}, 0) AS delivered, coalesce(${sumOf('bounced')}, 0) AS bounced,
       coalesce(${sumOf('complained')}, 0) AS complained
     FROM message_reports WHERE message_id = ? AND day BETWEEN ? AND ?`,
  )
  const inRange = 'message_id = messages.id AND day BETWEEN ?2 AND ?3'
  // the order of both tables keeps each message on the primary key of its counts
  const appDays = db.prepare<AppDayCount, [number, number, number]>(
    `SELECT message_id AS "messageId", day, ${emailsIf("outcome = 'sent'")} AS sent,
       ${sumOf("CASE WHEN outcome = 'sent' THEN came_back ELSE 0 END")} AS "cameBack",
       ${emailsIf("outcome IN ('skipped', 'heldBack', 'kept', 'failed')")} AS unsent,
       ${emailsIf("outcome = 'kept'")} AS captured,
       ${emailsIf("outcome = 'waiting'")} AS waiting
     FROM messages ${joinParts('message_days', inRange)}
     WHERE messages.app_id = ?1 GROUP BY message_id, day ORDER BY message_id, day`,
  )
  const appCompared = db.prepare<StoredCompared & { messageId: number }, [number, number, number]>(
    `SELECT message_id AS "messageId", is_held_back AS "isHeldBack", ${sumOf('people')} AS people, ${REACHED}
     FROM messages ${joinParts('message_comparisons', `${inRange} AND is_first = 1`)}
     WHERE messages.app_id = ?1 GROUP BY message_id, is_held_back`,
  )
  const people = db.prepare<Omit<PeopleCounts, 'ofEarlier'>, [number, number]>(
    `SELECT ${['emailed', 'cameBack', 'seen']
      .map(
        (name, kind) =>
          `coalesce((SELECT ${sumOf('people')} FROM people_result_days WHERE app_id = ?1 AND kind = ${kind} AND day >= ?2), 0) AS "${name}"`,
      )
      .join(', ')}`,
  )
  const returns = db.prepare<{ day: number; people: number }, [number, number]>(
    'SELECT day, people FROM people_result_days WHERE app_id = ? AND kind = 1 AND day >= ?',
  )
  const ofEarlier = db.prepare<{ people: number }, [number, number]>(
    `SELECT count(*) AS people FROM people_results${indexedBy('people_results_came_back')}
     WHERE app_id = ?1 AND message_id = 0 AND came_back_at >= ?2 AND coalesce(emailed_at, 0) < ?2`,
  )
  const countPeople = async (appId: number, from: number): Promise<PeopleCounts> => {
    const counts = (await people.get(appId, from)) ?? { emailed: 0, cameBack: 0, seen: 0 }
    const isCounted = counts.cameBack > 0 && counts.cameBack <= MOST_RETURNS
    return { ...counts, ofEarlier: isCounted ? ((await ofEarlier.get(appId, from * DAY_MS))?.people ?? 0) : 0 }
  }
  const anySent = db.prepare(
    `SELECT 1 FROM messages ${joinCounts('message_days', "message_id = messages.id AND outcome = 'sent' AND emails > 0")}
     WHERE messages.app_id = ? LIMIT 1`,
  )
  const failed = db.prepare<{ n: number }, [number, number, number]>(
    `SELECT coalesce(${sumOf('emails')}, 0) AS n FROM messages
       ${joinParts('message_days', `${inRange} AND outcome = 'failed'`)} WHERE messages.app_id = ?1`,
  )
  const unfit = db.prepare<UnfitCount, [number, number, number, string]>(
    `SELECT message_id AS "messageId", reason, ${sumOf('emails')} AS emails FROM messages
       ${joinParts('message_days', `${inRange} AND outcome = 'skipped' AND ${isOneOfTexts('reason', '?4')}`)}
     WHERE messages.app_id = ?1 GROUP BY message_id, reason HAVING sum(emails) > 0 ORDER BY emails DESC LIMIT ${MOST_UNFIT}`,
  )
  const inState = db.prepare<{ n: number }, [number, string]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM messages ${crossJoin} deliveries ON message_id = messages.id AND state = ?2
     WHERE messages.app_id = ?1 LIMIT ${MOST_QUEUED}) AS counted`,
  )
  const restored = db.prepare<{ n: number }, [number]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM messages ${crossJoin} deliveries ON message_id = messages.id
       AND reason = '${RESTORED}' AND state = 'skipped' WHERE messages.app_id = ?1 LIMIT ${MOST_QUEUED}) AS counted`,
  )
  const deferred = db.prepare<{ n: number }, [number, string]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM messages CROSS JOIN ${textsOf('?2', 'reasons')}
       ${crossJoin} deliveries ON message_id = messages.id AND reason = reasons.value AND state = 'deferred'
     WHERE messages.app_id = ?1 LIMIT ${MOST_QUEUED}) AS counted`,
  )
  return {
    /** Emails that wait for one of these reasons, up to a limit. */
    countDeferred: async (appId: number, reasons: readonly string[]): Promise<number> =>
      (await deferred.get(appId, JSON.stringify(reasons)))?.n ?? 0,

    hasSentEmail: async (appId: number): Promise<boolean> => (await anySent.get(appId)) !== null,

    /** `reasons`: those that lie in a message. */
    countProblems: async (
      appId: number,
      { from, until }: DayRange,
      reasons: readonly string[],
    ): Promise<ProblemCounts> => ({
      unfit: await unfit.all(appId, from, until, JSON.stringify(reasons)),
      failed: (await failed.get(appId, from, until))?.n ?? 0,
      captured: (await inState.get(appId, 'kept'))?.n ?? 0,
      unknown: (await inState.get(appId, 'unknown'))?.n ?? 0,
      restored: (await restored.get(appId))?.n ?? 0,
    }),

    readAppResults: async (appId: number, { from, until }: DayRange): Promise<AppResults> => ({
      people: await countPeople(appId, from),
      returns: await returns.all(appId, from),
      days: await appDays.all(appId, from, until),
      compared: (await appCompared.all(appId, from, until)).map(toCompared),
    }),
    readResults: async (messageId: number, { from, until }: DayRange): Promise<MessageResults> => ({
      days: await days.all(messageId, from, until),
      compared: (await compared.all(messageId, from, until)).map(toCompared),
      reports: (await reported.get(messageId, from, until)) ?? { delivered: 0, bounced: 0, complained: 0 },
    }),
  }
}
