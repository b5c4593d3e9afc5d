/**
 * The order of locks, which is the same in each transaction: limits, then people, then addresses without a person, then
 * deliveries, each in the order of their ids. What decides about a person is read after that, so it stays as it is until
 * the commit.
 */
import type { ReadEvent } from '../event-texts.ts'
import { isPlanned } from '../engine/engine.ts'
import { POSTGRES, type SqlValue } from '../engine/sql.ts'
import type { PersonKey } from '../people.ts'
import { LOOKED_AT } from '../schedules.ts'
import type { Job, WriteName } from '../writes.ts'
import { numberValues, type Run } from './connection.ts'
import { IS_CLAIMER_RUNNING } from './delivery-queue.ts'
import { Outdated } from './faults.ts'
import { rowsAs } from './rows.ts'

/** What a write names. `query`: finds the ids of its people. */
type Named = {
  people?: readonly PersonKey[]
  contacts?: readonly number[]
  deliveries?: readonly number[]
  query?: { text: string; values: SqlValue[] }
}
type Naming = { [N in WriteName]?: (input: Job<N>['input']) => Named }

const CLAIMED_PEOPLE = numberValues(`SELECT contact_id AS id FROM deliveries
  WHERE state IN ('claimed', 'handed') AND claimed_by <> ?1 AND NOT ${IS_CLAIMER_RUNNING}`)
const SCHEDULED_PEOPLE = `SELECT due.contact_id AS id FROM message_schedules CROSS JOIN LATERAL
    (SELECT contact_id FROM scheduled_people WHERE schedule_id = message_schedules.id AND due_at <= $1
     ORDER BY due_at LIMIT ${LOOKED_AT}) AS due
  WHERE is_over = 0`

const byDelivery = ({ id }: { id: number }): Named => ({ deliveries: [id] })
const byContact = ({ contactId }: { contactId: number }): Named => ({ contacts: [contactId] })
const byAddress = ({ appId, email }: PersonKey): Named => ({ people: [{ appId, email }] })
const byAddresses = ({ appId, rows }: { appId: number; rows: readonly { email: string }[] }): Named => ({
  people: rows.map(({ email }) => ({ appId, email })),
})

const NAMING: Naming = {
  extendClaim: byDelivery,
  dropJoined: byDelivery,
  markHanded: byDelivery,
  markCaptured: byDelivery,
  markSent: byDelivery,
  markSkipped: byDelivery,
  markDeferred: byDelivery,
  markFailed: byDelivery,
  markUnknown: byDelivery,
  resendDelivery: byDelivery,
  cancelDelivery: byDelivery,
  sendDeliveryEarly: byDelivery,
  reportDeliveries: ({ reports }) => ({ deliveries: reports.map(({ deliveryId }) => deliveryId) }),
  reportAddress: byAddress,
  unsubscribe: byContact,
  resubscribe: byContact,
  chooseTopics: byContact,
  suppress: byAddress,
  unsuppress: byAddress,
  suppressMany: byAddresses,
  importTopicEnds: byAddresses,
  eraseContact: byAddress,
  releaseClaims: ({ notOf }) => ({ query: { text: CLAIMED_PEOPLE, values: [notOf] } }),
  runSchedules: ({ at }) => ({ query: { text: SCHEDULED_PEOPLE, values: [at] } }),
}

const PERSON_COLUMNS = { app_id: 'bigint', email: 'text' } as const

/** One by one: PostgreSQL would read the whole table to join it with as many rows as it expects here. `$1`: of `listOf`. */
export const PEOPLE_BY_ADDRESS = `${rowsAs(PERSON_COLUMNS)} CROSS JOIN LATERAL (SELECT id FROM contacts
  WHERE contacts.app_id = rows.app_id AND contacts.email = rows.email LIMIT 1) AS person`
export const listOf = (people: readonly PersonKey[]): string =>
  JSON.stringify(people.map(({ appId, email }) => ({ app_id: appId, email })))

/** One by one, too, and in the order of their ids. `ids`: a query for them, each once. */
export const lockPeople = (columns: string, ids: string): string =>
  `SELECT person.* FROM (${ids} ORDER BY id) AS ids CROSS JOIN LATERAL
     (SELECT ${columns} FROM contacts WHERE contacts.id = ids.id LIMIT 1 FOR UPDATE) AS person`

export const keyOfPerson = ({ appId, email }: PersonKey): string => `${appId}:${email}`

/** As many as the table has rows. */
const ADDRESS_LOCKS = 4_096
/** The same on each instance, whatever its version. */
const lockOf = (one: PersonKey): number => Bun.hash.crc32(keyOfPerson(one)) % ADDRESS_LOCKS

/** Of the addresses without a person, so that they can be added. What is read of an address comes after it. */
const LOCK_NEWCOMERS = `SELECT 1 FROM address_locks WHERE number = ANY (ARRAY(
    SELECT rows.number FROM ${rowsAs({ ...PERSON_COLUMNS, number: 'bigint' })}
    WHERE (SELECT 1 FROM contacts WHERE contacts.app_id = rows.app_id AND contacts.email = rows.email LIMIT 1) IS NULL))
  ORDER BY number FOR SHARE`
export const lockNewcomers = (run: Run, people: readonly PersonKey[]) =>
  run(LOCK_NEWCOMERS, [
    JSON.stringify(people.map((one) => ({ app_id: one.appId, email: one.email, number: lockOf(one) }))),
  ])

/** To change what is stored for addresses without a person. */
const LOCK_ADDRESSES = `SELECT 1 FROM address_locks WHERE ${POSTGRES.isOneOf('number', '$1')} ORDER BY number FOR UPDATE`
const lockAddresses = (run: Run, people: readonly PersonKey[]) =>
  run(LOCK_ADDRESSES, [JSON.stringify(people.map(lockOf))])

const LOCK_NAMED = lockPeople(
  'id, app_id AS "appId", email',
  `SELECT person.id FROM ${PEOPLE_BY_ADDRESS}
   UNION SELECT value AS id FROM ${POSTGRES.numbersOf('$2', 'contact_ids')}
   UNION SELECT contact_id FROM deliveries WHERE ${POSTGRES.isOneOf('id', '$3')}`,
)

/** Sent after the locks of addresses, so that nobody is added any more. */
const FIND_ADDED = `SELECT 1 FROM ${PEOPLE_BY_ADDRESS} LIMIT 1`

/** Whom a planned write is about; null if its text is refused. */
export function personOf({ name, input }: Job, readEvent: ReadEvent): PersonKey | null {
  const read = name === 'recordEventText' ? readEvent(input as Parameters<ReadEvent>[0]) : { write: input }
  return 'write' in read ? (read.write as PersonKey) : null
}

function namedBy(job: Job, readEvent: ReadEvent): Named {
  if (!isPlanned(job)) return (NAMING[job.name] as ((input: Job['input']) => Named) | undefined)?.(job.input) ?? {}
  const person = personOf(job, readEvent)
  return person === null ? {} : { people: [person] }
}

const PEOPLE_OF_DELIVERIES = numberValues(
  `SELECT id, contact_id AS person FROM deliveries WHERE ${POSTGRES.isOneOf('id')}`,
)
/** They change nothing but what is of their email and its person. */
const OF_ONE_EMAIL: ReadonlySet<WriteName> = new Set(['markHanded', 'markSent'])

/** The jobs that are each about an email of another person, which stays the same: they need not wait for each other. */
export async function listApart(run: Run, jobs: readonly Job[]): Promise<Set<Job>> {
  const emails = (jobs as readonly Job<'markHanded' | 'markSent'>[]).filter(({ name }) => OF_ONE_EMAIL.has(name))
  if (emails.length < 2) return new Set()
  const rows = await run(PEOPLE_OF_DELIVERIES, [JSON.stringify(emails.map(({ input }) => input.id))])
  const people = new Map(rows.map(({ id, person }) => [Number(id), Number(person)]))
  const byPerson = Map.groupBy(emails, ({ input }) => people.get(input.id))
  return new Set([...byPerson].flatMap(([person, all]) => (person === undefined || all.length > 1 ? [] : all)))
}

/** Of a group that doesn't only plan: its writes come upon their people one after the other. @throws Outdated */
export async function lockPeopleOf(run: Run, jobs: readonly Job[], readEvent: ReadEvent): Promise<void> {
  const named = jobs.map((job) => namedBy(job, readEvent))
  const people = named.flatMap((one) => one.people ?? [])
  const deliveries = named.flatMap((one) => one.deliveries ?? [])
  const contacts = named.flatMap((one) => one.contacts ?? [])
  for (const { query } of named) {
    if (query) contacts.push(...(await run(query.text, query.values)).map(({ id }) => Number(id)))
  }
  if (people.length + deliveries.length + contacts.length === 0) return
  const locked = await run(LOCK_NAMED, [listOf(people), JSON.stringify(contacts), JSON.stringify(deliveries)])
  const known = new Set(locked.map((row) => keyOfPerson(row as PersonKey)))
  const isUnknown = (one: PersonKey): boolean => !known.has(keyOfPerson(one))
  const changes = named.filter((_, index) => !isPlanned(jobs[index] as Job)).flatMap((one) => one.people ?? [])
  if (!changes.some(isUnknown)) return
  // also those who may be added, because all addresses are locked together
  const unknown = people.filter(isUnknown)
  const [, added] = await Promise.all([lockAddresses(run, unknown), run(FIND_ADDED, [listOf(unknown)])])
  // people come before addresses
  if (added.length > 0) throw new Outdated('People were added meanwhile')
}
