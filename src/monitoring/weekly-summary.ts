/** The weekly summary for owners: whom the messages reached, who came back, and what needs attention. Times are ms UTC. */
import { timingSafeEqual } from 'node:crypto'
import type { AppRow } from '../accounts/access.ts'
import type { Notice } from '../accounts/notices.ts'
import { type Clock, createPatientNow, DAY_MS, HOUR_MS } from '../core/clock.ts'
import { formatCount } from '../core/count.ts'
import { makeMailbox } from '../core/mail-addresses.ts'
import { fromLocalTime, localTime } from '../core/local-time.ts'
import { describeResults, type Measured, sumWaiting } from '../deliveries/describe-results.ts'
import { lastDays, readAppResults } from '../deliveries/results.ts'
import type { Mailer } from '../messages/mailer.ts'
import type { Store } from '../store/store.ts'
import type { Owner } from '../store/weekly-summaries.ts'
import { type AttentionItem, findAttention, readAttentionFacts, writeItem } from './attention.ts'
import type { Monitor } from './monitor.ts'

/** Local time of the account's first app, on Mondays. */
const HOUR = 9
const MONDAY_OF_EPOCH = 3
const WEEK_DAYS = 7
/** A server that was down on Monday sends it until Thursday. */
const MOST_LATE_MS = 3 * DAY_MS
const TRY_AGAIN_MS = HOUR_MS

/** The last Monday at nine. */
export function lastSummaryTime(now: number, zone: string): number {
  const local = localTime(now, zone)
  const day = Math.floor(local / DAY_MS)
  const monday = day - ((day + MONDAY_OF_EPOCH) % WEEK_DAYS)
  const isPast = monday * DAY_MS + HOUR * HOUR_MS <= local
  return fromLocalTime((isPast ? monday : monday - WEEK_DAYS) * DAY_MS + HOUR * HOUR_MS, zone)
}

/** Whether an owner gets it now. Who joined since gets the next one. */
export const isSummaryDue = ({ weeklySummary, acceptedAt, summarizedAt }: Owner, dueAt: number, now: number): boolean =>
  weeklySummary && acceptedAt < dueAt && (summarizedAt ?? 0) < dueAt && now - dueAt < MOST_LATE_MS

export type AppWeek = {
  app: Pick<AppRow, 'publicId' | 'name'>
  results: Measured
  hasHoldback: boolean
  attention: Pick<AttentionItem, 'isBad' | 'text'>[]
}

const hasResults = ({ results }: AppWeek): boolean =>
  results.emailed + results.cameBack + results.alreadySeen + sumWaiting(results) > 0

/** Recommendations alone are not worth an email: Overview shows them. */
const hasNews = (week: AppWeek): boolean => hasResults(week) || week.attention.some(({ isBad }) => isBad)

type Writing = { account: { name: string }; weeks: readonly AppWeek[]; baseUrl: string; unsubscribeUrl: string }

/** null: there is nothing to report. */
export function writeSummary({ account, weeks, baseUrl, unsubscribeUrl }: Writing): Omit<Notice, 'id'> | null {
  const shown = weeks.filter(hasNews)
  const [first] = shown
  if (first === undefined) return null
  const sum = (count: (week: AppWeek) => number): number => shown.reduce((total, week) => total + count(week), 0)
  const [emailed, cameBack] = [sum(({ results }) => results.emailed), sum(({ results }) => results.cameBack)]
  const problems = sum(({ attention }) => attention.filter(({ isBad }) => isBad).length)
  const counted = `${formatCount(emailed)} emailed, ${formatCount(cameBack)} came back`
  const needing = problems === 1 ? '1 problem' : `${formatCount(problems)} problems`
  const news = [...(emailed + cameBack > 0 ? [counted] : []), ...(problems > 0 ? [needing] : [])].join(', ') || counted
  return {
    subject: `Your week in Eventpost: ${news}`,
    paragraphs: [`The last 7 days in the account ${account.name}.`, ...shown.flatMap(writeWeek)],
    link: {
      text: 'Open Overview',
      url: shown.length === 1 ? `${baseUrl}/apps/${first.app.publicId}/overview` : `${baseUrl}/`,
    },
    unsubscribeUrl,
    reason: `You get this email on Mondays because you own the account ${account.name}.`,
  }
}

function writeWeek(week: AppWeek): Notice['paragraphs'] {
  const { app, results, hasHoldback, attention } = week
  const items = attention.map(({ text }) => text)
  return [
    { heading: app.name },
    hasResults(week) || results.captured > 0 ? describeResults(results, hasHoldback) : 'Nobody was emailed.',
    ...(items.length === 0 ? ['Nothing needs your attention.'] : ['Needs attention:', { items }]),
  ]
}

const PROOF_BYTES = 16

const prove = (key: string, membershipId: string): Buffer =>
  new Bun.CryptoHasher('sha256', key).update(`weekly summary:${membershipId}`).digest().subarray(0, PROOF_BYTES)

export const makeSummaryToken = (key: string, membershipId: string): string =>
  `${membershipId}.${prove(key, membershipId).toString('base64url')}`

/** The membership's id; null: it isn't one of ours. */
export function readSummaryToken(key: string, token: string): string | null {
  const [membershipId = '', proof = ''] = token.split('.')
  const given = Buffer.from(proof, 'base64url')
  return given.length === PROOF_BYTES && timingSafeEqual(given, prove(key, membershipId)) ? membershipId : null
}

export const SUMMARY_PATH = '/weekly-summary'

type Dependencies = {
  store: Store
  clock: Clock
  mailer: Mailer
  monitor: Pick<Monitor, 'seemsOver'>
  baseUrl: string
  unsubscribeKey: string
  note: (level: 'info' | 'warn', message: string, fields: Record<string, string | number | null>) => void
}

export type WeeklySummaries = ReturnType<typeof createWeeklySummaries>

export function createWeeklySummaries(deps: Dependencies) {
  const { store, clock, mailer, baseUrl, unsubscribeKey, note } = deps
  const patientNow = createPatientNow(clock)
  /** when it was sent, or there was nothing to report, by account */
  const doneFor = new Map<string, number>()
  const notBefore = new Map<string, number>()

  const readWeek = async (app: AppRow): Promise<AppWeek> => {
    const results = await readAppResults(store, app.id, lastDays(WEEK_DAYS, clock.now()))
    const facts = await readAttentionFacts(deps, app)
    const live = facts.messages.filter(({ status }) => status === 'live')
    const hasHoldback = live.some(({ content }) => content.holdback !== undefined)
    const attention = findAttention(facts).map((item) => ({ ...item, text: writeItem(item, app.timezone) }))
    return { app, results, hasHoldback, attention }
  }

  /** @returns whether nothing is left to be done */
  const sendTo = async (owner: Owner, { mail, dueAt, apps }: { mail: Writing; dueAt: number; apps: AppRow[] }) => {
    const { id: membershipId, summarizedAt: from, email } = owner
    const unsubscribeUrl = `${baseUrl}${SUMMARY_PATH}/${makeSummaryToken(unsubscribeKey, membershipId)}`
    const notice = writeSummary({ ...mail, unsubscribeUrl })
    const claim = { membershipId, from, to: dueAt }
    if (notice === null) return !('refusal' in (await store.claimSummary(claim)))
    const to = makeMailbox('', email)
    const send = mailer.findNoticeSender(await Promise.all(apps.map(({ id }) => store.mailSettings(id))))
    if (!to || !send || 'refusal' in (await store.claimSummary(claim))) return false
    const result = await send({ ...notice, id: `week-${membershipId}-${dueAt}` }, to)
    const reason = 'reason' in result ? result.reason : null
    note(result.is === 'sent' ? 'info' : 'warn', 'weekly summary', {
      memberId: owner.memberId,
      outcome: result.is,
      reason,
    })
    // without an answer it may have arrived, so it isn't sent again
    if (result.is !== 'failed') return true
    await store.claimSummary({ membershipId, from: dueAt, to: from })
    return false
  }

  const sendOf = async ({ id, name }: { id: string; name: string }, now: number): Promise<void> => {
    const apps = await store.listApps(id)
    const dueAt = lastSummaryTime(now, apps[0]?.timezone ?? 'UTC')
    if (doneFor.get(id) === dueAt || now < (notBefore.get(id) ?? 0)) return
    const owners = (await store.listOwners(id)).filter((owner) => isSummaryDue(owner, dueAt, now))
    if (owners.length > 0) {
      const weeks: AppWeek[] = []
      for (const app of apps) weeks.push(await readWeek(app))
      const mail = { account: { name }, weeks, baseUrl, unsubscribeUrl: '' }
      const sent = await Promise.all(owners.map((owner) => sendTo(owner, { mail, dueAt, apps })))
      if (sent.includes(false)) {
        notBefore.set(id, now + TRY_AGAIN_MS)
        return
      }
    }
    doneFor.set(id, dueAt)
  }

  return {
    /** To every owner for whom it is time. */
    async sendDue(): Promise<void> {
      const now = patientNow()
      for (const account of await store.listAccounts()) {
        await sendOf(account, now)
        // requests are answered in between
        await Bun.sleep(0)
      }
    },
  }
}
