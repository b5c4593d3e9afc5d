import type { Database } from 'bun:sqlite'
import type { createDeliveryReads } from './deliveries.ts'
import { createHistoryReads, createUnindexedViews, createViewReads } from './events.ts'
import type { DecisionReads, DeliveryDecision, DeliveryRules } from './delivery-rules.ts'
import { forgetReply, type DecisionRecord } from './decision-records.ts'
import { type DeliveryWork, STOP_REASONS, type Verdict } from './message-types.ts'
import { createSuppressionReads } from './suppressions.ts'
import { createUnindexedReports, createPresenceReads, createReportReads } from './visit-reports.ts'

/** What a decision rested on: the last event or report of anybody, the person's data, and what the email is made of. */
export type Basis = { lastId: number; person: string; mail: string }

export type Decided = DeliveryDecision & { basis: Basis }

type Checking = { at: number; record: DecisionRecord; basis: Basis | undefined }

const LAST_ID =
  'SELECT max(ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM snippet_batches), 0)) AS id'
/** Of what came since few rows are read: it is little in the time that an email takes. */
const IS_NEW = `SELECT 1 FROM events WHERE id > ?1 AND contact_id = ?2
  UNION ALL SELECT 1 FROM snippet_batches WHERE id > ?1 AND contact_id = ?2 LIMIT 1`

const hash = (value: unknown): string => String(Bun.hash(JSON.stringify(value)))
const hashPerson = ({ contact: { status, tags, fields } }: DeliveryWork): string => hash([status, tags, fields])
const hashMail = ({ contact, sourceHash }: DeliveryWork): string => hash([contact.email, sourceHash])

const basisOf = (work: DeliveryWork, lastId: number): Basis => ({
  lastId,
  person: hashPerson(work),
  mail: hashMail(work),
})

type DeliveryReads = ReturnType<typeof createDeliveryReads>

/** Decides about deliveries when they are claimed, and once more in the transaction that hands them over. */
export function createDeciding(db: Database, deliveries: DeliveryReads, { decide }: Pick<DeliveryRules, 'decide'>) {
  let opened: DecisionReads | null = null
  const reads = (): DecisionReads =>
    (opened ??= {
      ...deliveries,
      ...createSuppressionReads(db),
      ...createHistoryReads(db),
      ...createReportReads(db),
    })
  let together: ReturnType<typeof createGroupReads> | null = null
  const readTogether = (works: readonly DeliveryWork[]): DecisionReads => {
    if (!works.some(asksVisits)) return reads()
    together ??= createGroupReads(db)
    return together(
      reads(),
      works.map(({ contact }) => contact.id),
    )
  }
  const last = db.prepare<{ id: number }, []>(LAST_ID)
  const news = db.prepare<object, [number, number]>(IS_NEW)

  const isUnchanged = (work: DeliveryWork, { lastId, person }: Basis): boolean =>
    hashPerson(work) === person && news.get(lastId, work.contact.id) === null

  return {
    /** When a delivery has been claimed. `basis` is what the final check compares with. */
    decideDelivery(work: DeliveryWork, at: number): Decided {
      // before the facts: what arrives while they are read counts as new
      const lastId = last.get()?.id ?? 0
      return { ...decide(reads(), work, at), basis: basisOf(work, lastId) }
    },

    /**
     * The same for several, in the transaction that claims them: what the index of events does not hold yet is read once
     * for all (measured with 3,000 such events and ten deliveries: 0.29 ms each in place of 0.84). Null where one cannot be
     * decided: that fails it when it is sent, and not the claim of all.
     */
    decideAll(works: readonly DeliveryWork[], at: number): (Decided | null)[] {
      const lastId = last.get()?.id ?? 0
      const reading = works.length > 1 ? readTogether(works) : reads()
      return works.map((work) => {
        try {
          return { ...decide(reading, work, at), basis: basisOf(work, lastId) }
        } catch {
          return null
        }
      })
    },

    /**
     * Just before the final dot: everything that decides is looked at again. `outdated`: the email was made from settings
     * or a version that have changed since. The rules read only where something has arrived that they may ask about.
     */
    checkFinally(work: DeliveryWork, { at, record, basis }: Checking): DeliveryDecision | 'outdated' {
      if (basis && basis.mail !== hashMail(work)) return 'outdated'
      const isAsked = !work.delivery.byHand && (work.message.content.onlyIf ?? []).length > 0
      const known = !isAsked || (basis && isUnchanged(work, basis)) ? record.verdicts.filter(isOwnRule) : undefined
      const decided = decide(reads(), work, at, known)
      if (decided.outcome !== 'send') return decided
      if (known) return { outcome: 'send', record, unfit: [] }
      // what the email links to is not asked again
      const links = record.verdicts.filter(({ rule }) => rule === 'link')
      return {
        outcome: 'send',
        unfit: decided.unfit,
        record: forgetReply({ ...decided.record, verdicts: [...decided.record.verdicts, ...links] }),
      }
    },
  }
}

const asksVisits = ({ message }: DeliveryWork): boolean => (message.content.onlyIf ?? []).length > 0

/** Reads for some people, as long as nothing else is written. */
function createGroupReads(db: Database) {
  const [findLateViews, findLateReports] = [createUnindexedViews(db), createUnindexedReports(db)]
  const held = {
    ...createViewReads(db, { isIndexedOnly: true }),
    ...createPresenceReads(db, { isIndexedOnly: true }),
  }
  return (all: DecisionReads, people: readonly number[]): DecisionReads => {
    const [lateViews, lateReports] = [findLateViews(people), findLateReports(people)]
    const views = (contactId: number) => (lateViews.has(contactId) ? all : held)
    return {
      ...all,
      listViews: (contactId, since) => views(contactId).listViews(contactId, since),
      firstViewAt: (contactId) => views(contactId).firstViewAt(contactId),
      listReports: (appId, contactId, receivedAfter) =>
        (lateReports.has(contactId) ? all : held).listReports(appId, contactId, receivedAfter),
    }
  }
}

/** One that the message itself asks, and not the app or the person. */
const isOwnRule = ({ rule }: Verdict): boolean => Object.hasOwn(STOP_REASONS, rule)
