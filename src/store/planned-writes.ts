import { type Maybe, type Sql, withoutLocks } from './engine/sql.ts'
import { eachInOrder, eachTogether, filterInOrder, mapInOrder } from '../core/in-order.ts'
import { createComparedReads, createComparedWrites } from './compared-people.ts'
import { createAudit, writePersonSubject } from './audit.ts'
import { createChangeActor, createChangeNote } from './contact-changes.ts'
import { createConsentReads, createConsentWrites } from './consents.ts'
import { createContactReads } from './contacts.ts'
import { TAKES_EVENTS, USES_DEDUPE_KEY, WAITS_FOR_LIMIT } from './delivery-states.ts'
import { createMessageUses, IS_OF_MESSAGE, type MessageOfPerson, type UsedFacts } from './message-uses.ts'
import { type IdSequence, idSince } from '../core/ids.ts'
import { type AddOutcomes, createOutcomeFacts } from './idempotency.ts'
import { createLiveMessages, type LiveMessages } from './live-messages.ts'
import { createScheduleChanges } from './schedules.ts'
import { createSendWrites } from './sends.ts'
import { createPersonReads, type People, type Person } from './people.ts'
import type { Goal } from './message-types.ts'
import {
  type AccountMonth,
  type AppFacts,
  type AwaitedGoal,
  type BatchPeople,
  type ContactChange,
  type DeliveryChange,
  type EmailFacts,
  type EmailQuery,
  type FactQuery,
  type JoinedFacts,
  type MemberNote,
  type MessageQuery,
  type Names,
  type NewContact,
  type NewDelivery,
  type NewEvent,
  type NewReport,
  type Newcomer,
  type PersonFacts,
  type Plan,
  type PlannedOutcome,
  type PlannedWrite,
  type Planner,
  type Rules,
  type ReportQuery,
  type SentFacts,
  type WaitingFacts,
  isRefused,
  monthKey,
} from './plan-types.ts'
import { createSentCache, type SentCache } from './caches/sent-cache.ts'
import { createSuppressionList } from './suppressions.ts'
import type { CountedLimit, FieldValue } from './types.ts'
import type { DeliveryEnds } from './delivery-ends.ts'

type Parts = {
  db: Sql
  ids: IdSequence
  people: People
  live: LiveMessages
  sentCache: SentCache
  ends: DeliveryEnds
  usage: LimitUsage
  newPeople: NewPeople
  rows: RowWrites
  isRepeated: IsRepeated
  rules: PlanRules
}

type PlanRules = Planner & Pick<Rules, 'defaultResponseDays'>

/** Whether a visit report arrived before. */
export type IsRepeated = (query: ReportQuery) => Maybe<boolean>

/** What is used of limits. */
export type LimitUsage = {
  /** by all instances, by bucket, in the open transaction; empty if this process alone counts, before the write */
  used: ReadonlyMap<string, number>
  count(limit: CountedLimit, counted: { count: number; at: number }): void
  /** Deletes what has expired; `second`: by the app's clock. @returns how many rows */
  removeExpired(second: number): Promise<number>
}

/** Counts the new people of a month; what is counted for a write stays until it is committed. */
export type NewPeople = (month: AccountMonth) => Maybe<number>

/** The rows of a batch, as each engine adds them quickest. */
export type RowWrites = {
  addContacts(contacts: readonly NewContact[]): Maybe<void>
  addNewPeople(counts: Plan['newPeople']): Maybe<void>
  addReports(reports: readonly NewReport[]): Maybe<void>
  addEvents(events: readonly NewEvent[]): Maybe<void>
  addOutcomes: AddOutcomes
}

export function createPlannedWrites(parts: Parts) {
  const [makePlan, apply] = [createPlanning(parts), createApplying(parts)]

  return async (batch: readonly PlannedWrite[]): Promise<PlannedOutcome[]> => {
    const plan = await makePlan(batch, parts.ids)
    await apply(plan)
    return plan.outcomes
  }
}

type PlanningParts = FactParts & { rules: PlanRules; usage: Pick<LimitUsage, 'used'> }

function createPlanning({ rules, usage: { used }, ...parts }: PlanningParts) {
  const facts = createPlannedFacts({ ...parts, rules })

  return async (batch: readonly PlannedWrite[], ids: IdSequence): Promise<Plan> => {
    const people = await facts.loadPeople(batch)
    const query = rules.queryFacts(batch, people)
    const { newPeople, outcomes } = await facts.loadFacts(query)
    const { matches, reports } = query
    const given = { people, matches, reports, newPeople, outcomes, used }
    // at once, because batches that are planned at the same time take ids of one sequence
    const plan = rules.planWrites(batch, { ...given, firstId: ids.next() })
    ids.passOver(plan.lastId)
    return plan
  }
}

/** The ids of a plan that is not applied: after all that are stored, so that its emails are the newest. */
const UNSTORED_IDS: IdSequence = { next: () => Number.MAX_SAFE_INTEGER - 2 ** 20, passOver: () => {} }

export type DryRunWrite = Exclude<PlannedWrite, { name: 'recordVisitReport' }>

/** On a reading connection, and with nothing of the writing thread's memory: its rules and people are read each time. */
export function createDryRuns(sql: Sql, rules: PlanRules) {
  const db = withoutLocks(sql)
  const open = () => {
    const [live, sentCache] = [createLiveMessages(db, async () => null), createSentCache()]
    const reads = { people: createPersonReads(db), newPeople: createNewPeopleReads(db), isRepeated: () => false }
    const parts = { db, ...reads, usage: { used: new Map() }, live, sentCache, rules }
    const makePlan = createPlanning(parts)
    return (write: DryRunWrite): Promise<Plan> =>
      db.readTogether(async () => {
        for (const one of [live, sentCache]) one.forget()
        return await makePlan([write], UNSTORED_IDS)
      })
  }
  let plan: ReturnType<typeof open> | null = null

  return {
    /** The plan that the write would be made by now, which is not applied. */
    async planDryRun(write: DryRunWrite): Promise<Plan> {
      plan ??= open()
      return await plan(write)
    },
  }
}

type FactParts = Pick<Parts, 'db' | 'live' | 'sentCache'> & {
  people: Pick<People, 'load' | 'find' | 'hasSuppressions'>
  isRepeated: IsRepeated
  newPeople: NewPeople
  rules: Pick<Rules, 'defaultResponseDays'>
}
type Row = Omit<WaitingFacts, 'content' | 'parts' | 'properties'>

const JOINED_COLUMNS = 'id, event_id AS "eventId", once_key AS "dedupeKey", triggered_at AS "triggeredAt"'
const WAITING_COLUMNS = `${JOINED_COLUMNS}, message_id AS "messageId", version, state, reason, planned_at AS "plannedAt", due_at AS "dueAt",
  handed_at AS "handedAt"`
const DECIDED_AT = 'coalesce(held_back_at, handed_at) AS "decidedAt"'
const IS_SENT_OR_HELD_BACK = `app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY} AND joined_to IS NULL
  AND (state IN ('handed', 'sent', 'unknown') OR held_back_at IS NOT NULL) AND coalesce(held_back_at, handed_at) >= ?`
type Version = { messageId: number; version: number }
const JOINED_COUNT = `(SELECT count(*) FROM deliveries AS one WHERE one.joined_to = leads.id AND one.state = 'joined') AS joined`

/** Each once, so that instances lock them in the same order. */
const inOrderOfKeys = (months: readonly AccountMonth[]): AccountMonth[] => {
  const byKey = new Map(months.map((one) => [monthKey(one), one]))
  return [...byKey.keys()].toSorted().flatMap((key) => byKey.get(key) ?? [])
}

export function createNewPeopleReads(db: Sql): NewPeople {
  const count = db.prepare<{ count: number }, [string, string]>(
    'SELECT count FROM new_people WHERE account_id = ? AND month = ?',
  )
  return async ({ accountId, month }) => (await count.get(accountId, month))?.count ?? 0
}

type AppPeople = { app: AppFacts; byEmail: Map<string, PersonFacts> }

export function createPlannedFacts({ db, people, live, sentCache, isRepeated, newPeople, rules }: FactParts) {
  const names = db.prepare<Names, [number]>(
    'SELECT first_name AS "firstName", last_name AS "lastName" FROM contacts WHERE id = ?',
  )
  const contacts = createContactReads(db)
  const suppressions = createSuppressionList(db)
  const { listConsents } = createConsentReads(db)
  const loadOutcomes = createOutcomeFacts(db, rules)
  const loadEmails = createEmailFacts({ db, live, sentCache })

  const loadSuppressions = async (newcomers: readonly Newcomer[]): Promise<void> => {
    const asked = newcomers.filter(({ person }) => people.hasSuppressions?.(person.app.id) ?? true)
    const found = await suppressions.findEach(asked.map(({ email, person }) => ({ appId: person.app.id, email })))
    for (const [index, { person }] of asked.entries()) person.suppression = found[index] ?? null
  }

  const isWaiting = ({ id, unsureUntil }: Person, at: number): boolean =>
    unsureUntil === undefined ? live.isUnsure(id, at) : (unsureUntil ?? 0) > at

  const loadPerson = (app: AppFacts, email: string, at: number): PersonFacts => {
    const found = people.find(app.id, email)
    const [id, lacksName] = found === null ? [null, true] : [found.id, found.lacksName]
    const isUnsure = found !== null && isWaiting(found, at)
    const unloaded = { names: null, contact: null, suppression: null, asked: null, emails: null }
    return { app, isAlone: true, isUnsure, id, lacksName, ...unloaded }
  }

  const loadApp = async (id: number): Promise<AppPeople> => ({
    app: { id, rules: await live.of(id), hasDeliveries: await live.hasDeliveries(id) },
    byEmail: new Map(),
  })

  return {
    async loadPeople(batch: readonly PlannedWrite[]): Promise<BatchPeople> {
      await people.load(batch.flatMap((write) => (isRefused(write) ? [] : write.input)))
      const apps = new Map<number, AppPeople>()
      const found: (PersonFacts | null)[] = []
      for (const write of batch) {
        if (isRefused(write)) {
          found.push(null)
          continue
        }
        const { appId, email, at } = write.input
        const of = apps.get(appId) ?? (await loadApp(appId))
        apps.set(appId, of)
        const loaded = of.byEmail.get(email)
        const person = loaded ?? loadPerson(of.app, email, at)
        if (loaded) loaded.isAlone = false
        else of.byEmail.set(email, person)
        found.push(person)
      }
      return found
    },

    async loadFacts(queries: FactQuery) {
      const counts = new Map<string, number>()
      const [outcomes] = await Promise.all([
        loadOutcomes(queries.outcomes),
        eachTogether(new Set(queries.names), async (person) => {
          person.names ??= await names.get(person.id)
        }),
        eachTogether(new Set(queries.contacts), async (person) => {
          person.contact ??= await contacts.findWithTimes(person.id)
        }),
        loadSuppressions(queries.newcomers),
        eachTogether(new Set(queries.asked), async (person) => {
          person.asked ??= (await listConsents(person.id)).map(({ askedAt }) => askedAt)
        }),
        eachTogether(queries.reports, async (query) => {
          if (query) query.isRepeated = await isRepeated(query)
        }),
        eachTogether(queries.emails, async (query) => {
          query.person.emails = await loadEmails(query)
        }),
        eachTogether(inOrderOfKeys(queries.months), async (one) => {
          counts.set(monthKey(one), await newPeople(one))
        }),
      ])
      return { newPeople: counts, outcomes }
    },
  }
}

/** What an event or a change may do to a person's emails: those that wait or were sent, and the keys that are used. */
function createEmailFacts({ db, live, sentCache }: Pick<FactParts, 'db' | 'live' | 'sentCache'>) {
  const { dialect } = db
  const uses = createMessageUses(db)
  // ids are in order of arrival, so the index skips old deliveries
  const isLead = `${IS_OF_MESSAGE} AND id >= ? AND ${TAKES_EVENTS} AND version = ?`
  const nearLeads = db.prepare<Row, number[]>(
    `SELECT ${WAITING_COLUMNS}, ${JOINED_COUNT} FROM deliveries AS leads${dialect.indexedBy('deliveries_once')}
     WHERE ${isLead} AND triggered_at BETWEEN ? AND ?${dialect.lockInOrder('leads')}`,
  )
  // an email that waits only for the person's limit accepts events until it is sent
  const limitedLeads = db.prepare<Row, number[]>(
    `SELECT ${WAITING_COLUMNS}, ${JOINED_COUNT} FROM deliveries AS leads${dialect.indexedBy('deliveries_once')}
     WHERE ${isLead} AND ${WAITS_FOR_LIMIT}${dialect.lockInOrder('leads')}`,
  )
  const waiting = db.prepare<Row, [number, number]>(
    `SELECT ${WAITING_COLUMNS}, 0 AS joined FROM deliveries WHERE app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY}
       AND state IN ('waiting', 'deferred', 'claimed') AND by_hand = 0${dialect.lockInOrder('deliveries')}`,
  )
  const joinedTo = db.prepare<Omit<JoinedFacts, 'properties'>, [number]>(
    `SELECT ${JOINED_COLUMNS} FROM deliveries WHERE joined_to = ? AND state = 'joined'`,
  )
  const compared = createComparedReads(db)
  const sent = db.prepare<Omit<SentFacts, 'of' | 'properties'> & { eventId: number | null }, [number, number, number]>(
    `SELECT id, event_id AS "eventId", ${DECIDED_AT}, came_back_at AS "cameBackAt", opened_at AS "openedAt"
     FROM deliveries WHERE ${IS_SENT_OR_HELD_BACK} AND (came_back_at IS NULL OR opened_at IS NULL)`,
  )
  const withoutGoal = db.prepare<Omit<AwaitedGoal, 'of' | keyof Goal> & Version, [number, number, number]>(
    `SELECT id, message_id AS "messageId", version, ${DECIDED_AT}
     FROM deliveries WHERE ${IS_SENT_OR_HELD_BACK} AND goal_at IS NULL`,
  )
  const propertiesOf = db.prepare<{ properties: string | null }, [number]>('SELECT properties FROM events WHERE id = ?')
  const timezoneOf = db.prepare<{ timezone: FieldValue | null }, [number]>(
    `SELECT ${dialect.jsonMember('fields', 'timezone')} AS timezone FROM contacts WHERE id = ?`,
  )

  const propertiesBy = async (eventId: number | null): Promise<string | null> =>
    eventId === null ? null : ((await propertiesOf.get(eventId))?.properties ?? null)

  const loadWaiting = async ({ person, waiting: mode }: EmailQuery): Promise<WaitingFacts[]> => {
    const of = async <One extends { eventId: number | null }>(one: One) => ({
      ...one,
      properties: mode === 'withProperties' ? await propertiesBy(one.eventId) : null,
    })
    return await mapInOrder(await waiting.all(person.app.id, person.id), async (row) => {
      const parts = await mapInOrder(await joinedTo.all(row.id), of)
      return {
        ...(await of(row)),
        content: await live.contentOf(row.messageId, row.version),
        joined: parts.length,
        parts,
      }
    })
  }

  const loadLeads = async (
    { person }: EmailQuery,
    { message, near, room, limitedSince }: MessageQuery,
  ): Promise<WaitingFacts[]> => {
    if (near.length === 0) return []
    const found = new Map<number, WaitingFacts>()
    const add = (rows: Row[]): Row[] => {
      for (const row of rows) found.set(row.id, { ...row, content: message.content, properties: null, parts: [] })
      return rows
    }
    const key = [person.app.id, person.id, message.id]
    let isEnough = true
    for (const { from, until } of near) {
      const rows = add(await nearLeads.all(...key, idSince(from), message.version, from, until))
      isEnough &&= rows.some(({ joined }) => joined < room)
    }
    if (!isEnough && limitedSince !== null) add(await limitedLeads.all(...key, idSince(limitedSince), message.version))
    return [...found.values()]
  }

  const isUsed = async (of: MessageOfPerson, key: string): Promise<boolean> => {
    const { messageId, contactId } = of
    if (key !== '') return await uses.isKeyUsed(of, key)
    if (sentCache.has(messageId, contactId)) return true
    const isFound = await uses.isKeyUsed(of, key)
    // cached on the second event only: most people trigger a message once and would evict the others
    if (isFound) sentCache.add(messageId, contactId)
    return isFound
  }

  const loadUsed = async ({ person: { app, id } }: EmailQuery, query: MessageQuery): Promise<UsedFacts> => {
    const { keys, needsKeys, needsCount, needsHanded, message } = query
    const of = { appId: app.id, contactId: id, messageId: message.id }
    return {
      keys: new Set(needsKeys ? await uses.listKeys(of) : await filterInOrder(keys, (key) => isUsed(of, key))),
      count: needsCount ? await uses.countUses(of) : 0,
      lastHandedAt: needsHanded ? await uses.lastHandedAt(of) : null,
    }
  }

  const propertiesOfEmail = async (id: number, eventId: number | null): Promise<(string | null)[]> =>
    await mapInOrder([eventId, ...(await joinedTo.all(id)).map((one) => one.eventId)], propertiesBy)

  const loadSent = async ({ person: { app, id }, sentSince }: EmailQuery): Promise<SentFacts[]> => {
    if (sentSince === null) return []
    const decided = app.rules.holdsBack ? await compared.listWithoutReturn(id, sentSince) : []
    const all = [
      ...(await sent.all(app.id, id, sentSince)).map((row) => ({ of: 'email' as const, ...row })),
      ...decided.map((row) => ({ of: 'comparison' as const, ...row })),
    ]
    return await mapInOrder(all, async ({ eventId, ...row }) => ({
      ...row,
      properties: row.openedAt === null ? await propertiesOfEmail(row.id, eventId) : [],
    }))
  }

  const loadGoals = async ({ person: { app, id }, goalsSince }: EmailQuery): Promise<AwaitedGoal[]> => {
    if (goalsSince === null) return []
    const decided = app.rules.holdsBack ? await compared.listWithoutGoal(id, goalsSince) : []
    const all = [
      ...(await withoutGoal.all(app.id, id, goalsSince)).map((row) => ({ of: 'email' as const, ...row })),
      ...decided.map((row) => ({ of: 'comparison' as const, ...row })),
    ]
    const found: AwaitedGoal[] = []
    for (const { messageId, version, ...row } of all) {
      const { goal } = await live.contentOf(messageId, version)
      if (goal) found.push({ ...row, ...goal })
    }
    return found
  }

  return async (query: EmailQuery): Promise<EmailFacts> => {
    const waiting = query.waiting === 'none' ? [] : await loadWaiting(query)
    const used = new Map<number, UsedFacts>()
    for (const [messageId, one] of query.messages) {
      if (query.waiting === 'none') waiting.push(...(await loadLeads(query, one)))
      used.set(messageId, await loadUsed(query, one))
    }
    const timezone = query.needsTimezone ? ((await timezoneOf.get(query.person.id))?.timezone ?? null) : null
    return { timezone, waiting, sent: await loadSent(query), goals: await loadGoals(query), used }
  }
}

function createApplying({ db, people, live, ends, usage, rows }: Parts) {
  const isTogether = db.dialect.engine === 'postgres'
  const suppressions = createSuppressionList(db)
  const fillNames = db.prepare('UPDATE contacts SET first_name = ?, last_name = ?, updated_at = ? WHERE id = ?')
  const saveContact = db.prepare(
    'UPDATE contacts SET first_name = ?, last_name = ?, source = ?, tags = ?, fields = ?, updated_at = ? WHERE id = ?',
  )
  const addTag = db.prepare(
    'INSERT INTO contact_tags (app_id, tag, contact_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const removeTag = db.prepare('DELETE FROM contact_tags WHERE app_id = ? AND tag = ? AND contact_id = ?')
  const addDelivery = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
       triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, joined_to)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const noteVisit = db.prepare(
    'UPDATE deliveries SET came_back_at = coalesce(came_back_at, ?), opened_at = coalesce(opened_at, ?) WHERE id = ?',
  )
  const noteGoal = db.prepare('UPDATE deliveries SET goal_at = coalesce(goal_at, ?) WHERE id = ?')
  const emails: ReturnType<typeof createComparedWrites> = {
    noteReturn: async (id, at, isResult) => void (await noteVisit.run(at, isResult ? at : null, id)),
    noteGoal: async (id, at) => void (await noteGoal.run(at, id)),
  }
  const checkEarlier = db.prepare('UPDATE deliveries SET due_at = ?, updated_at = ? WHERE id = ?')
  const compared = createComparedWrites(db)
  const nameActor = createChangeActor(db)
  const [audit, noteChange] = [createAudit(db), createChangeNote(db)]
  const { addSend, addOwnText } = createSendWrites(db)
  const { addConsent, confirmConsent } = createConsentWrites(db)
  const changeSchedule = createScheduleChanges(db)

  const applyPeople = async ({ contacts, newPeople, personChanges }: Plan): Promise<void> => {
    await rows.addContacts(contacts)
    for (const { id, appId, email, firstName, lastName, status } of contacts) {
      if (status !== 'subscribed' && status !== 'pending') await suppressions.name(appId, email)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
    await rows.addNewPeople(newPeople)
    for (const change of personChanges) {
      const { appId, email, id, firstName, lastName, at } = change
      if (change.change === 'contact') await applyContactChange(change)
      else await fillNames.run(firstName, lastName, at, id)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
  }

  const applyContactChange = async (change: ContactChange): Promise<void> => {
    const { appId, id, firstName, lastName, source, tags, fields, addTags, removeTags, at, actor } = change
    await saveContact.run(firstName, lastName, source, toJson(tags), toJson(fields), at, id)
    for (const tag of removeTags) await removeTag.run(appId, tag, id)
    for (const tag of addTags) await addTag.run(appId, tag, id)
    await nameActor([id], at, actor)
  }

  const applyMemberNote = async ({ action, changed, ...note }: MemberNote): Promise<void> => {
    if (action === 'contact.add') await noteChange({ ...note, added: true })
    await audit(note, action, writePersonSubject(note.contactId, changed))
  }

  const applyDelivery = async (row: NewDelivery): Promise<void> => {
    const { id, appId, contactId, messageId, version, eventId, dedupeKey, triggeredAt, dueAt, at, joinedTo } = row
    const state = row.change === 'join' ? 'joined' : 'waiting'
    const key = [id, appId, contactId, messageId, version, eventId, dedupeKey]
    await addDelivery.run(...key, state, triggeredAt, dueAt, dueAt, at, joinedTo)
    live.noteDelivery(appId)
  }

  const applyReached = async (row: Extract<DeliveryChange, { change: 'cameBack' | 'goal' }>): Promise<void> => {
    const { noteReturn, noteGoal } = row.of === 'email' ? emails : compared
    if (row.change === 'goal') await noteGoal(row.id, row.at)
    else await noteReturn(row.id, row.at, row.isResult)
  }

  const applyChange = async (row: DeliveryChange): Promise<void> => {
    if (row.change === 'cancel') {
      await ends.apply(row.id, row.at, row.finish, row.plan)
    } else if (row.change === 'checkEarlier') await checkEarlier.run(row.dueAt, row.at, row.id)
    else if (row.change === 'cameBack' || row.change === 'goal') await applyReached(row)
    else await applyDelivery(row)
  }

  return async (plan: Plan): Promise<void> => {
    for (const { limits, count, at } of plan.counted) for (const limit of limits) usage.count(limit, { count, at })
    await applyPeople(plan)
    for (const note of plan.memberNotes) await applyMemberNote(note)
    await rows.addReports(plan.reports)
    await rows.addEvents(plan.events)
    for (const message of plan.ownTexts) {
      await addOwnText(message)
      live.drop(message.appId)
    }
    await eachInOrder(plan.deliveries, applyChange, ({ change }) => isTogether && change !== 'cancel')
    for (const change of plan.schedules) await changeSchedule(change)
    await eachTogether(plan.sends, addSend)
    for (const consent of plan.consents) await addConsent(consent)
    for (const confirmation of plan.confirmations) await confirmConsent(confirmation)
    await rows.addOutcomes(plan.requests)
  }
}

const toJson = (value: string[] | Record<string, FieldValue>): string | null =>
  Object.keys(value).length === 0 ? null : JSON.stringify(value)
