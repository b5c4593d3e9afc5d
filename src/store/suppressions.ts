import type { Sql } from './engine/sql.ts'
import { mapInOrder } from '../core/in-order.ts'
import { publicId } from '../core/ids.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { IS_UNCONFIRMED } from './consents.ts'
import {
  createChangeActor,
  createChangeCause,
  createChangeNote,
  createStatusChangeRead,
  isStatusChange,
  type StatusChange,
} from './contact-changes.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { DeliveryRules, Finish } from './delivery-rules.ts'
import { USES_DEDUPE_KEY } from './delivery-states.ts'
import type { LiveMessages } from './live-messages.ts'
import type { MessageContent, SuppressionReason } from './message-types.ts'
import type { PersonKey } from './people.ts'
import { type Cause, forgetCause } from './suppression-causes.ts'
import type { ContactStatus, Refused } from './types.ts'

/** Key of the address hashes, created with the database. */
const KEY_NAME = 'suppression_key'

/** `email`: null once the person was erased. `contactId`: of a person who is still there. */
export type Suppressed = {
  emailHash: string
  email: string | null
  contactId: number | null
  reason: SuppressionReason
  createdAt: number
  cause: Cause | null
  /** of a bounce or complaint: when the person unsubscribed; null: they didn't (ms UTC) */
  unsubscribedAt: number | null
}

export type SuppressionCursor = Pick<Suppressed, 'emailHash' | 'createdAt'>

/** By reason, or by the start of an address; null is any. */
export type SuppressionFilter = { reason: SuppressionReason | null; start: string | null }

/** Found by keyed hashes, because suppressions outlive a person's erasure, which removes the address. */
export function createSuppressionList(db: Sql) {
  const readKey = db.prepare<{ value: string }, [string]>('SELECT value FROM install WHERE name = ?')
  const select = db.prepare<{ reason: SuppressionReason }, [number, string]>(
    'SELECT reason FROM suppressions WHERE app_id = ? AND email_hash = ?',
  )
  const selectEach = db.prepare<{ emailHash: string; reason: SuppressionReason }, [number, string]>(
    `SELECT email_hash AS "emailHash", reason FROM suppressions WHERE app_id = ? AND ${db.dialect.isOneOfTexts('email_hash')}`,
  )
  const setEmail = db.prepare(
    'UPDATE suppressions SET email = ? WHERE app_id = ? AND email_hash = ? AND email IS DISTINCT FROM ?1',
  )
  const forget = db.prepare(
    `UPDATE suppressions SET email = NULL, cause = ${forgetCause(db.dialect)} WHERE app_id = ? AND email_hash = ?`,
  )
  // PostgreSQL may be restored to another installation's backup while instances run
  const isCached = db.dialect.engine === 'sqlite'
  let cached: string | null = null

  const loadKey = async (): Promise<string> => {
    const key = cached ?? (await readKey.get(KEY_NAME))?.value
    if (key === undefined) throw new Error('The database has no key for the hashes of addresses')
    if (isCached) cached = key
    return key
  }

  const hashWith = (key: string, appId: number, email: string): string =>
    new Bun.CryptoHasher('sha256', key).update(`${appId}:${email}`).digest('base64url')

  const hash = async (appId: number, email: string): Promise<string> => hashWith(await loadKey(), appId, email)

  const hashEach = async (appId: number, emails: readonly string[]): Promise<string[]> => {
    const key = await loadKey()
    return emails.map((email) => hashWith(key, appId, email))
  }

  const find = async (appId: number, email: string): Promise<SuppressionReason | null> =>
    (await select.get(appId, await hash(appId, email)))?.reason ?? null

  const findHashes = async (appId: number, hashes: readonly string[]): Promise<Map<string, SuppressionReason>> => {
    const rows = await selectEach.all(appId, JSON.stringify(hashes))
    return new Map(rows.map(({ emailHash, reason }) => [emailHash, reason]))
  }

  const findOfApp = async (
    appId: number,
    people: readonly PersonKey[],
  ): Promise<(readonly [PersonKey | undefined, SuppressionReason])[]> => {
    const hashes = await hashEach(
      appId,
      people.map(({ email }) => email),
    )
    const byHash = new Map(hashes.map((emailHash, index) => [emailHash, people[index]]))
    return [...(await findHashes(appId, hashes))].map(([emailHash, reason]) => [byHash.get(emailHash), reason])
  }

  return {
    hash,
    hashEach,
    findHashes,
    /** Of a person who is known again. */
    name: async (appId: number, email: string) => await setEmail.run(email, appId, await hash(appId, email)),
    /** Of a person who is erased. */
    forget: async (appId: number, email: string) => await forget.run(appId, await hash(appId, email)),
    find,
    /** In the order of the people. */
    async findEach(people: readonly PersonKey[]): Promise<(SuppressionReason | null)[]> {
      const byApp = Map.groupBy(people, ({ appId }) => appId)
      const found = new Map<PersonKey | undefined, SuppressionReason>()
      for (const [appId, all] of byApp) for (const [one, reason] of await findOfApp(appId, all)) found.set(one, reason)
      return people.map((one) => found.get(one) ?? null)
    },
  }
}

type StoredRow = Omit<Suppressed, 'cause'> & { cause: string | null }

const toSuppressed = ({ cause, ...row }: StoredRow): Suppressed => ({
  ...row,
  cause: cause === null ? null : (JSON.parse(cause) as Cause),
})

const toSuppressedOrNull = (row: StoredRow | null): Suppressed | null => row && toSuppressed(row)

export function createSuppressionReads(db: Sql) {
  const list = createSuppressionList(db)
  const select = <Values extends (number | string | null)[]>(rest: string) =>
    db.prepare<StoredRow, Values>(
      `SELECT email_hash AS "emailHash", suppressions.email, contacts.id AS "contactId", reason,
              suppressions.created_at AS "createdAt", cause, unsubscribed_at AS "unsubscribedAt"
       FROM suppressions LEFT JOIN contacts ON contacts.app_id = suppressions.app_id AND contacts.email = suppressions.email
       WHERE suppressions.app_id = ? AND ${rest}`,
    )
  const before = `(suppressions.created_at, email_hash) < (?, ?)
    ORDER BY suppressions.created_at DESC, email_hash DESC LIMIT ?`
  const newest = select<[number, number, string, number]>(before)
  const newestOf = select<[number, SuppressionReason, number, string, number]>(`reason = ? AND ${before}`)
  const startingWith = select<[number, string, string, number]>(
    'suppressions.email >= ? AND suppressions.email < ? ORDER BY suppressions.email LIMIT ?',
  )
  const byHash = select<[number, string]>('email_hash = ?')
  const count = <Values extends (number | string)[]>(rest: string) =>
    db.prepare<{ count: number }, [number, ...Values, number]>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM suppressions WHERE app_id = ? ${rest} LIMIT ?) AS counted`,
    )
  const countAll = count<[]>('')
  const countOf = count<[SuppressionReason]>('AND reason = ?')
  const countStarting = count<[string, string]>('AND email >= ? AND email < ?')
  const lastSync = db.prepare<SuppressionSync & { at: number }, [number]>(
    'SELECT provider, at, added, known, unread, fault FROM suppression_syncs WHERE app_id = ?',
  )
  const endOf = (start: string): string => `${start}\u{10FFFF}`

  /** An erased person, who is found by their whole address only. */
  const findErased = async (appId: number, email: string): Promise<Suppressed | null> => {
    const exact = await findByHash(appId, email)
    return exact?.email === null ? exact : null
  }
  const findByHash = async (appId: number, email: string): Promise<Suppressed | null> =>
    toSuppressedOrNull(await byHash.get(appId, await list.hash(appId, email)))

  return {
    findSuppression: (appId: number, email: string): Promise<SuppressionReason | null> => list.find(appId, email),

    findSuppressed: findByHash,

    /** The last one; `at`: its end. */
    findSuppressionSync: async (appId: number): Promise<(SuppressionSync & { at: number }) | null> =>
      await lastSync.get(appId),

    async listSuppressions(query: {
      appId: number
      reason: SuppressionReason | null
      before: SuppressionCursor | null
      limit: number
    }): Promise<Suppressed[]> {
      const { appId, reason, limit } = query
      const { createdAt, emailHash } = query.before ?? { createdAt: Number.MAX_SAFE_INTEGER, emailHash: '' }
      const rows =
        reason === null
          ? await newest.all(appId, createdAt, emailHash, limit)
          : await newestOf.all(appId, reason, createdAt, emailHash, limit)
      return rows.map(toSuppressed)
    },

    /** By the start of an address, `from` one address on. Of an erased person only the whole address is found. */
    async searchSuppressions(query: {
      appId: number
      start: string
      from?: string
      limit: number
    }): Promise<Suppressed[]> {
      const { appId, start, from = start, limit } = query
      const found = (await startingWith.all(appId, from, endOf(start), limit)).map(toSuppressed)
      const erased = from === start ? await findErased(appId, start) : null
      return erased === null ? found : [erased, ...found].slice(0, limit)
    },

    /** Counts up to `most`. */
    async countSuppressions(query: SuppressionFilter & { appId: number }, most: number): Promise<number> {
      const { appId, reason, start } = query
      if (start === null)
        return (reason === null ? await countAll.get(appId, most) : await countOf.get(appId, reason, most))?.count ?? 0
      const found = (await countStarting.get(appId, start, endOf(start), most))?.count ?? 0
      return Math.min(most, found + ((await findErased(appId, start)) === null ? 0 : 1))
    },
  }
}

/** Of an email provider's own list. `unread`: are no addresses. `fault`: why it ended early; null: it was read to its end. */
export type SuppressionSync = {
  provider: string
  added: number
  known: number
  unread: number
  fault: string | null
}

type SyncEnd = Change & { appId: number; sync: SuppressionSync }

type Open = { id: number; contactId: number; messageId: number; version: number; record: string | null }
type WaitingEmail = { contactId: number; content: MessageContent; record: string | null }

/** Cancels people's emails that wait, as `decide` says of each. */
export function createOpenEmails({ db, live, ends }: Pick<Parts, 'db' | 'live' | 'ends'>) {
  const open = db.prepare<Open, [number, string]>(
    `SELECT id, contact_id AS "contactId", message_id AS "messageId", version, record FROM deliveries
     WHERE app_id = ? AND ${db.dialect.isOneOf('contact_id')} AND ${USES_DEDUPE_KEY}
       AND state IN ('waiting', 'deferred', 'claimed')${db.dialect.lockInOrder('deliveries')}`,
  )
  return async (
    { appId, contactIds, at }: { appId: number; contactIds: readonly number[]; at: number },
    decide: (waiting: WaitingEmail) => Finish | null,
  ): Promise<void> => {
    if (contactIds.length === 0) return
    for (const { id, messageId, version, ...waiting } of await open.all(appId, JSON.stringify(contactIds))) {
      const cancelled = decide({ ...waiting, content: await live.contentOf(messageId, version) })
      if (cancelled) await ends.end(id, at, cancelled)
    }
  }
}

type Person = { appId: number; email: string }
/** A member who did it, for the audit log; `why` is their own text. */
type By = { accountId: string; actor: string; why: string }
/** `isUnsubscribed`: they also unsubscribed, whatever the reason is. `cause`: default: that of the member. */
type Reasoned = { reason: SuppressionReason; isUnsubscribed?: boolean; cause?: Cause }
type Suppressing = Person & Reasoned & { at: number; by?: By }

/** `isChanged`: the person's status is another one since. */
export type SuppressPerson = (suppressing: Suppressing) => Promise<Added>

const causeOf = ({ by, cause }: Pick<Suppressing, 'by' | 'cause'>): Cause | undefined =>
  cause ?? (by && { by: 'member', actor: by.actor, text: by.why })

type ListedRow = Reasoned & { email: string }
type List = { appId: number; at: number; by?: By; rows: readonly ListedRow[] }
/** `noted`: how many addresses the audit entry names; null for none. */
type ManySuppressed = Omit<List, 'rows'> & { noted: number | null; rows: ListedRow[] }
type Added = { isNew: boolean; isChanged: boolean }

const idsOf = (rows: readonly { person: { id: number } | null }[]): number[] =>
  rows.flatMap(({ person }) => person?.id ?? [])

/** Each list has an address once, in the order of its rows. */
function withoutRepeats<Row extends { email: string }>(rows: readonly Row[]): Row[][] {
  const lists: Map<string, Row>[] = []
  for (const row of rows) {
    const list = lists.find((one) => !one.has(row.email))
    if (list) list.set(row.email, row)
    else lists.push(new Map([[row.email, row]]))
  }
  return lists.map((list) => [...list.values()])
}

/** See people/suppressions.ts. `current`: of the address or the person; null if the address is not suppressed. */
export type SuppressionRules = {
  outweighs: (wanted: SuppressionReason, current: ContactStatus | null) => boolean
  mayResubscribe: (current: ContactStatus, change: StatusChange | null, at: number) => boolean
}

type Parts = {
  db: Sql
  live: LiveMessages
  ends: DeliveryEnds
  rules: SuppressionRules & Pick<DeliveryRules, 'cancelBySuppression'>
}

export function createSuppressionWrites({ db, live, ends, rules }: Parts) {
  const [list, audit, nameActor] = [createSuppressionList(db), createAudit(db), createChangeActor(db)]
  const [noteChange, nameCause] = [createChangeNote(db), createChangeCause(db)]
  const { isOneOf, isOneOfTexts, itemsOf, numbersOf } = db.dialect
  /** A row that stays has its own reason. */
  const put = db.prepare<unknown, [number, number, string]>(
    `INSERT INTO suppressions (app_id, created_at, email_hash, reason, email, cause, unsubscribed_at)
     SELECT CAST(?1 AS bigint), CAST(?2 AS bigint), value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS bigint)
     FROM ${itemsOf('?3', 'listed')} WHERE true
     ON CONFLICT (app_id, email_hash) DO UPDATE SET reason = excluded.reason, email = excluded.email,
       created_at = CASE WHEN suppressions.reason = excluded.reason THEN suppressions.created_at ELSE excluded.created_at END,
       cause = CASE WHEN suppressions.reason = excluded.reason THEN suppressions.cause ELSE excluded.cause END,
       unsubscribed_at = coalesce(suppressions.unsubscribed_at,
         CASE WHEN suppressions.reason = 'unsubscribed' AND excluded.reason <> 'unsubscribed' THEN suppressions.created_at END,
         excluded.unsubscribed_at)
     WHERE suppressions.reason <> excluded.reason OR suppressions.email IS DISTINCT FROM excluded.email
       OR suppressions.unsubscribed_at IS NULL AND excluded.unsubscribed_at IS NOT NULL`,
  )
  const goBack = db.prepare<object, [number, string]>(
    `UPDATE suppressions SET reason = 'unsubscribed', created_at = unsubscribed_at, cause = NULL, unsubscribed_at = NULL
     WHERE app_id = ? AND email_hash = ? AND unsubscribed_at IS NOT NULL RETURNING 1`,
  )
  const unsubscribeAgain = db.prepare<{ id: number }, [number, number, string]>(
    `UPDATE contacts SET status = 'unsubscribed', updated_at = ?
     WHERE app_id = ? AND email = ? AND status <> 'unsubscribed' RETURNING id`,
  )
  const remove = db.prepare('DELETE FROM suppressions WHERE app_id = ? AND email_hash = ?')
  const setStatus = db.prepare<unknown, [SuppressionReason, number, string]>(
    `UPDATE contacts SET status = ?, updated_at = ? WHERE ${isOneOf('id')}`,
  )
  const resubscribe = db.prepare<{ id: number }, [number, number, string]>(
    `UPDATE contacts SET status = CASE WHEN ${IS_UNCONFIRMED} THEN 'pending' ELSE 'subscribed' END, updated_at = ?
     WHERE app_id = ? AND email = ? AND status NOT IN ('subscribed', 'pending')
     RETURNING id`,
  )
  const byId = db.prepare<Person, [number]>('SELECT app_id AS "appId", email FROM contacts WHERE id = ?')
  const findStatusChange = createStatusChangeRead(db)
  const byEmail = db.prepare<{ id: number; status: ContactStatus }, [number, string]>(
    'SELECT id, status FROM contacts WHERE app_id = ? AND email = ?',
  )
  const byEmails = db.prepare<{ id: number; email: string; status: ContactStatus }, [number, string]>(
    `SELECT id, email, status FROM contacts WHERE app_id = ? AND ${isOneOfTexts('email')}`,
  )
  const changedByPerson = db.prepare<{ id: number }, [string]>(
    `SELECT people.value AS id FROM ${numbersOf('?', 'people')} WHERE (
       SELECT CASE WHEN actor IS NULL THEN 1 END FROM contact_changes
       WHERE contact_id = people.value AND ${isStatusChange(db.dialect)} ORDER BY id DESC LIMIT 1) = 1`,
  )
  const saveSync = db.prepare(
    `INSERT INTO suppression_syncs (app_id, provider, at, added, known, unread, fault)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (app_id) DO UPDATE SET provider = excluded.provider, at = excluded.at, added = excluded.added,
       known = excluded.known, unread = excluded.unread, fault = excluded.fault`,
  )
  const cancelEmails = createOpenEmails({ db, live, ends })

  /** Stores the hash of the address and the id of its person, because the audit log also outlives the person. */
  const note = async (action: string, { appId, email, at, by }: Person & { at: number; by?: By }): Promise<void> => {
    if (!by) return
    const { why, ...who } = by
    const person = await byEmail.get(appId, email)
    const about = [await list.hash(appId, email), ...(person ? [publicId('con', person.id)] : [])].join(' ')
    await audit({ ...who, at }, action, `${about}: ${why}`)
  }

  type Listed = ListedRow & { hash: string; before: SuppressionReason | null; person: KnownPerson | null }
  type KnownPerson = { id: number; status: ContactStatus }

  const load = async (appId: number, rows: readonly ListedRow[]): Promise<Listed[]> => {
    const emails = rows.map(({ email }) => email)
    const hashes = await list.hashEach(appId, emails)
    const [reasons, found] = await Promise.all([
      list.findHashes(appId, hashes),
      byEmails.all(appId, JSON.stringify(emails)),
    ])
    const people = new Map(found.map((person) => [person.email, person]))
    return rows.map((row, index) => {
      const hash = hashes[index] ?? ''
      return { ...row, hash, before: reasons.get(hash) ?? null, person: people.get(row.email) ?? null }
    })
  }

  const toEntry = ({ hash, before, email, ...row }: Listed, { at, by }: Pick<List, 'at' | 'by'>) => {
    const reason = before === null || rules.outweighs(row.reason, before) ? row.reason : before
    const isUnsubscribed = row.isUnsubscribed ?? row.reason === 'unsubscribed'
    const cause = causeOf({ by, cause: row.cause })
    return [
      hash,
      reason,
      email,
      cause ? JSON.stringify(cause) : null,
      isUnsubscribed && reason !== 'unsubscribed' ? at : null,
    ]
  }

  /** Of people whose status changes. */
  const changePeople = async (rows: readonly Listed[], { at, by }: Pick<List, 'at' | 'by'>): Promise<void> => {
    for (const [reason, some] of Map.groupBy(rows, (row) => row.reason))
      await setStatus.run(reason, at, JSON.stringify(idsOf(some)))
    await nameActor(idsOf(rows), at, by?.actor)
    for (const some of Map.groupBy(rows, ({ cause }) => JSON.stringify(cause)).values())
      await nameCause(idsOf(some), at, causeOf({ by, cause: some[0]?.cause }))
  }

  /** So that people can't take back what a member does, too. */
  const noteAgain = async (rows: readonly Listed[], { appId, at, by }: Omit<List, 'rows'>): Promise<void> => {
    if (!by || rows.length === 0) return
    const changed = new Set((await changedByPerson.all(JSON.stringify(idsOf(rows)))).map(({ id }) => id))
    for (const { person, cause } of rows) {
      if (!person || !changed.has(person.id)) continue
      const about = { appId, contactId: person.id, at, status: person.status }
      await noteChange({ ...about, actor: by.actor, cause: causeOf({ by, cause }) })
    }
  }

  /** Each address once. */
  const addEach = async ({ rows, ...how }: List): Promise<(Added & { email: string })[]> => {
    const { appId, at } = how
    const listed = await load(appId, rows)
    await put.run(appId, at, JSON.stringify(listed.map((row) => toEntry(row, how))))
    const isChanged = ({ reason, person }: Listed): boolean => person !== null && rules.outweighs(reason, person.status)
    const known = listed.filter(({ person }) => person !== null)
    await changePeople(known.filter(isChanged), how)
    await noteAgain(
      known.filter((row) => !isChanged(row)),
      how,
    )
    const reasons = new Map(known.map(({ person, reason }) => [person?.id, reason]))
    await cancelEmails({ appId, contactIds: idsOf(known), at }, ({ contactId, ...waiting }) => {
      const reason = reasons.get(contactId)
      return reason === undefined ? null : rules.cancelBySuppression(waiting, reason, at)
    })
    return listed.map((row) => ({ email: row.email, isNew: row.before === null, isChanged: isChanged(row) }))
  }

  /** An address without a contact is added to the list only. `isNew`: it was not on the list. */
  const add: SuppressPerson = async ({ appId, at, by, ...row }) => {
    const [added] = await addEach({ appId, at, by, rows: [row] })
    return { isNew: added?.isNew === true, isChanged: added?.isChanged === true }
  }

  /** Idempotent. */
  const suppress = async (suppressing: Suppressing): Promise<Done> => {
    await add(suppressing)
    await note('suppression.add', suppressing)
    return DONE
  }

  /** A bounce or complaint doesn't take back that the person unsubscribed, so freeing the address doesn't either. */
  const free = async ({ appId, email, at }: Person & { at: number }, cause: Cause | undefined): Promise<void> => {
    const emailHash = await list.hash(appId, email)
    const isUnsubscribed = (await goBack.get(appId, emailHash)) !== null
    if (!isUnsubscribed) await remove.run(appId, emailHash)
    const freed = await (isUnsubscribed ? unsubscribeAgain : resubscribe).get(at, appId, email)
    if (freed) await nameCause([freed.id], at, cause)
  }

  const writes = {
    suppress,

    async suppressMany({ appId, at, by, noted, rows }: ManySuppressed): Promise<{ added: number }> {
      const lists = await mapInOrder(withoutRepeats(rows), (some) => addEach({ appId, at, by, rows: some }))
      const added = lists.flat().filter(({ isNew }) => isNew).length
      if (by && noted !== null) {
        const { why, ...who } = by
        await audit({ ...who, at }, 'suppression.import', `${noted} (${why})`)
      }
      return { added }
    },

    /** After the provider's list was read. */
    async saveSuppressionSync({ appId, sync, ...by }: SyncEnd): Promise<Done> {
      const { provider, added, known, unread, fault } = sync
      await saveSync.run(appId, provider, by.at, added, known, unread, fault)
      await audit(by, 'suppression.sync', `${provider} ${added} ${known}`)
      return DONE
    },

    async unsubscribe({ contactId, at }: { contactId: number; at: number }): Promise<{ appId: number } | Refused> {
      const person = await byId.get(contactId)
      if (!person) return { refusal: 'not_found' }
      await suppress({ ...person, reason: 'unsubscribed', at, cause: { by: 'link' } })
      return { appId: person.appId }
    },

    /** By the link in an email, as they unsubscribed: in their changes, but not audited. `isDone`: false if they may not. */
    async resubscribe({ contactId, at }: { contactId: number; at: number }): Promise<{ isDone: boolean } | Refused> {
      const person = await byId.get(contactId)
      if (!person) return { refusal: 'not_found' }
      const { appId, email } = person
      const current = (await list.find(appId, email)) ?? (await byEmail.get(appId, email))?.status ?? 'subscribed'
      if (!rules.mayResubscribe(current, await findStatusChange(contactId), at)) return { isDone: false }
      if (current !== 'subscribed') await free({ appId, email, at }, { by: 'link' })
      return { isDone: true }
    },

    async unsuppress(unsuppressing: Person & { at: number; by?: By }): Promise<Done> {
      const { appId, email, at } = unsuppressing
      await free(unsuppressing, causeOf(unsuppressing))
      const contact = await byEmail.get(appId, email)
      if (contact) await nameActor([contact.id], at, unsuppressing.by?.actor)
      await note('suppression.remove', unsuppressing)
      return DONE
    },
  }
  return { writes, suppressPerson: add }
}
