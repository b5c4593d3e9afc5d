import type { IdSequence } from '../core/ids.ts'
import { createAccountWrites } from './accounts.ts'
import { createActivationWrites } from './activation.ts'
import { createAlertWrites } from './alerts.ts'
import { createAppWrites } from './apps.ts'
import { createAuditWrites } from './audit.ts'
import { createBackupWrites } from './backups.ts'
import { createComparing } from './compared-people.ts'
import { createDeliveryEnds } from './delivery-ends.ts'
import { createDeliveryRetries } from './delivery-retries.ts'
import { createReportWrites } from './delivery-reports.ts'
import { createDeliveryWrites } from './delivery-writes.ts'
import type { Sealer } from './engine/sealing.ts'
import type { Maybe, Sql } from './engine/sql.ts'
import { createDomainCheckWrites } from './domain-checks.ts'
import { createErasure } from './erasure.ts'
import { createFollowUps } from './follow-ups.ts'
import type { EventText, ReadText, TextOutcome } from './event-texts.ts'
import { createInstallWrites } from './install.ts'
import { createKeyWrites } from './keys.ts'
import { createLimitWaitWrites } from './limit-waits.ts'
import { createLinkWrites } from './links.ts'
import { createLiveMessages } from './live-messages.ts'
import { createBrakes } from './brakes.ts'
import { createMailSettingsWrites } from './mail-settings.ts'
import { createMailSources } from './mail-sources.ts'
import { createCallWrites } from './mcp-calls.ts'
import { createMemberWrites } from './members.ts'
import type { SendWrite, SentMail } from './message-types.ts'
import { createMessageWrites } from './messages.ts'
import { createPasswordWrites } from './passwords.ts'
import type { People } from './people.ts'
import type { PlannedWrite, Rules } from './plan-types.ts'
import {
  createPlannedWrites,
  type IsRepeated,
  type LimitUsage,
  type NewPeople,
  type RowWrites,
} from './planned-writes.ts'
import { createRequestWrites } from './requests.ts'
import { createExpiry } from './retention.ts'
import { createMessageSchedules, createScheduleWrites } from './schedules.ts'
import { createSenderDomainWrites } from './sender-domains.ts'
import { createSentCache, NO_SENT_CACHE } from './caches/sent-cache.ts'
import { createSessionWrites } from './sessions.ts'
import type { StartWrite } from './start-writes.ts'
import { createSuppressionWrites } from './suppressions.ts'
import type { Timeline } from './timeline/timeline.ts'
import { createTokenWrites } from './tokens.ts'
import { createTopicWrites } from './topics.ts'
import { createTwoStepWrites } from './two-step.ts'
import type {
  ConfirmedConsent,
  ConsentWrite,
  ContactWrite,
  EventWrite,
  RecordedEvent,
  Refused,
  SavedContact,
} from './types.ts'
import { createUpkeep } from './upkeep.ts'
import type { VisitReportWrite, StoredVisitReport } from './visit-reports.ts'
import { createSummaryWrites } from './weekly-summaries.ts'

export type Writes = ReturnType<typeof createWrites>['writes'] & PlannedWrites
type PlannedWrites = {
  recordEvent: (input: EventWrite) => RecordedEvent | Refused
  recordEventText: (input: EventText) => TextOutcome
  recordVisitReport: (input: VisitReportWrite) => StoredVisitReport | Refused
  addContact: (input: ContactWrite) => SavedContact | Refused
  updateContact: (input: ContactWrite) => SavedContact | Refused
  sendMail: (input: SendWrite) => SentMail | Refused
  confirmConsent: (input: ConsentWrite) => ConfirmedConsent | Refused
}
export type WriteName = keyof Writes
export type Job<N extends WriteName = WriteName> = { name: N; input: Parameters<Writes[N]>[0] }
export type Outcome<N extends WriteName = WriteName> = Awaited<ReturnType<Writes[N]>> | Refused

/** They have no function of their own. A record, so that the compiler reports a missing name. */
const PLANNED: Record<keyof PlannedWrites, true> = {
  recordEvent: true,
  recordEventText: true,
  recordVisitReport: true,
  addContact: true,
  updateContact: true,
  sendMail: true,
  confirmConsent: true,
}

/** What an engine has beside its tables, for the writes of one connection. */
export type EngineParts = {
  ids: IdSequence
  people: People
  usage: LimitUsage
  newPeople: NewPeople
  rows: RowWrites
  isRepeated: IsRepeated
  /** Counts that were stored in parts. */
  mergeCounts(at: number): Maybe<void>
  timeline: Pick<Timeline, 'erase' | 'remove'>
}

export type WritesParts = { db: Sql; engine: EngineParts; sealer: Sealer; rules: Rules }

export function createWrites({ db, engine, sealer, rules }: WritesParts) {
  const { ids, people, timeline, usage, mergeCounts } = engine
  const { addOutcomes } = engine.rows
  const live = createLiveMessages(db, createMailSources(db, sealer))
  // on PostgreSQL, other instances send emails too
  const sentCache = db.dialect.engine === 'sqlite' ? createSentCache() : NO_SENT_CACHE
  const comparisons = createComparing(db)
  const ends = createDeliveryEnds({ db, sentCache, comparisons, rules })
  const retries = createDeliveryRetries({ db, rules })
  const topics = createTopicWrites({ db, ids, live, ends, rules })
  const schedules = createMessageSchedules({ db, live, rules })
  const messages = createMessageWrites({ db, ids, topics, schedules, addOutcomes, rules })
  const brakes = createBrakes({ db, retries, rules })
  const mailSettings = createMailSettingsWrites({ db, live, schedules, sealer, retries, brakes })
  const senderDomains = createSenderDomainWrites({ db, retries, rules })
  const suppressions = createSuppressionWrites({ db, live, ends, rules })
  const apps = createAppWrites({ db, live, messages, mailSettings, rules })
  const runPlanned = createPlannedWrites({ ...engine, db, live, sentCache, ends, rules })
  const start = async (starts: readonly StartWrite[]): Promise<void> =>
    void (await runPlanned(starts.map((input) => ({ name: 'startMessages', input }))))
  const follow = createFollowUps({ db, live, start, rules })
  const writes = {
    ...createAccountWrites({ db, addApp: apps.addApp, senderDomains, sealer, rules }),
    ...apps.writes,
    ...createKeyWrites({ db, sealer }),
    ...createLinkWrites(db),
    ...createMemberWrites(db, rules),
    ...createPasswordWrites(db, rules),
    ...createSessionWrites(db, rules),
    ...createTwoStepWrites({ db, sealer, rules }),
    ...createAuditWrites(db),
    ...createAlertWrites(db),
    ...createSummaryWrites(db),
    ...createBackupWrites(db),
    ...createInstallWrites(db),
    ...createActivationWrites(db),
    ...createErasure({ db, people, timeline }),
    ...createCallWrites(db),
    ...createTokenWrites(usage, rules),
    ...createDomainCheckWrites(db),
    ...createRequestWrites(db, rules),
    ...createUpkeep({ db, timeline, usage, mergeCounts, rules }),
    ...createExpiry({ db, timeline, rules, now: () => performance.now() }),
    ...messages,
    ...mailSettings,
    ...senderDomains.writes,
    ...createDeliveryWrites({ db, live, ends, comparisons, follow, brakes, topics, addOutcomes, rules }),
    ...suppressions.writes,
    ...topics.writes,
    ...createReportWrites({ db, ends, follow, suppressPerson: suppressions.suppressPerson, brakes, rules }),
    ...brakes.writes,
    ...retries.writes,
    ...createLimitWaitWrites(db),
    ...createScheduleWrites({ db, live, start, rules }),
  }
  return { writes, names: [...Object.keys(PLANNED), ...Object.keys(writes)], runPlanned, live, sentCache }
}

/** A refused request is planned anyway, because its Idempotency-Key may have an outcome. */
export const textWrite = ({ refusal }: EventText, { write }: ReadText): PlannedWrite => ({
  name: 'recordEvent',
  input: write,
  isRefused: refusal !== undefined,
})

export function toTextOutcome(outcome: RecordedEvent | Refused, { write, warnings }: ReadText): TextOutcome {
  const { appId } = write
  if (!('refusal' in outcome)) return warnings.length === 0 ? { ...outcome, appId } : { ...outcome, appId, warnings }
  const { refusal, bucket } = outcome
  if (refusal !== 'rate_limited') return { ...outcome, appId }
  return { refused: { refusal }, appId, ...(bucket === undefined ? {} : { bucket }) }
}
