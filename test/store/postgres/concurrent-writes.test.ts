/** Writes of two instances about the same people and emails, one of which began before the other ended. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mapInOrder } from '../../../src/core/in-order.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import type { Claim, MessageContent, SendWrite } from '../../../src/store/message-types.ts'
import { DEADLINES } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Refused } from '../../../src/store/types.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { CAPTURED, RECORD } from '../conformance/delivery-queue.ts'
import { AT, BY, DAY, done, eventWrite, HOUR, idempotency, newAccount, visitReportWrite } from '../samples.ts'

/** Longer than a test takes on a busy machine. */
const PATIENT = { ...DEADLINES, statementMs: 50_000, lockMs: 40_000, answerMs: 60_000 }
const RULES = { ...STORE_RULES, mostRequests: { refused: 4, unkeyed: 4, accepted: 4 } }
/** What a test may add. */
const ADDED = `activation_notes, app_mail_settings, captured_mails, compared_people, contacts, deliveries, ended_topics,
  events, idempotency_records, limit_usage, limit_waits, limit_windows, message_versions, messages, people_results,
  request_callers, requests, suppressions, topics, uncompared_people`
let server: PostgresServer
let watch: Bun.SQL
/** one connection, which holds the gate */
let database: Bun.SQL
let first: Store
let second: Store

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '60' })
  const url = server.url('postgres')
  ;[watch, database] = [new Bun.SQL(url, { max: 1 }), new Bun.SQL(url, { max: 1 })]
  const open = () =>
    openPostgresStore({ url, connections: 2, prepares: true }, { now: () => AT, rules: RULES, deadlines: PATIENT })
  ;[first, second] = [await open(), await open()]
  done(await first.createAccount(newAccount()))
}, 120_000)
afterAll(async () => {
  for (const one of [first, second, watch, database]) await one?.close()
  await server?.stop()
})
afterEach(async () => {
  // truncating is a change of settings that nothing notes
  await database.unsafe(`DROP FUNCTION IF EXISTS wait_at_gate CASCADE; TRUNCATE ${ADDED};
    UPDATE settings_version SET version = version + 1`)
})

const GATE = 1

/** Each such change waits, once it is made, until the gate opens. `change`: after AFTER in a trigger, up to EXECUTE. */
async function closeGate(change: string): Promise<void> {
  await database.unsafe(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN NULL; END $$;
    CREATE TRIGGER gate AFTER ${change} EXECUTE FUNCTION wait_at_gate()`)
  await database.unsafe(`SELECT pg_advisory_lock(${GATE})`)
}

async function countWaiting(): Promise<number> {
  const [row] = await watch.unsafe(`SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
  return Number(row.n)
}

type Race<A, B> = { early: () => Promise<A>; late: () => Promise<B>; meanwhile?: () => Promise<void> }

/** The late one begins while the early one is at the gate, which opens when the late one waits too, or has ended. */
async function race<A, B>({ early, late, meanwhile }: Race<A, B>): Promise<[A, B]> {
  const one = early()
  while ((await countWaiting()) < 1);
  let hasEnded = false
  const two = late().finally(() => (hasEnded = true))
  while (!hasEnded && (await countWaiting()) < 2);
  await meanwhile?.()
  await database.unsafe(`SELECT pg_advisory_unlock(${GATE})`)
  return [await one, await two]
}

const count = async (from: string): Promise<number> =>
  Number((await database.unsafe(`SELECT count(*) AS n FROM ${from}`))[0].n)

/** That no transaction holds these rows. */
const countFree = async (rows: string): Promise<number> =>
  (await database.unsafe(`SELECT 1 FROM ${rows} FOR UPDATE SKIP LOCKED`)).length

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  again: { once: 'property', property: 'n' },
  mail: { subject: 'S', body: 'B' },
}
let messages = 0
const goLive = async (changes: Partial<MessageContent> = {}): Promise<number> => {
  const draft = { id: null, name: `M${(messages += 1)}`, status: 'live', content: { ...CONTENT, ...changes } } as const
  return done(await first.saveMessages({ ...BY, appId: 1, drafts: [draft] })).saved[0]?.id ?? 0
}

const ADA = 'ada@example.com'
/** Queues an email and claims it. */
async function claim(store: Store, email = ADA, at = AT): Promise<Claim> {
  done(await first.recordEvent(eventWrite({ email, at, properties: JSON.stringify({ n: at }) })))
  const claiming = { claimedBy: store.instanceId, now: AT + HOUR, leaseMs: DAY, most: 1, skipApps: [] }
  const [work] = done(await store.claimDeliveries(claiming)).works
  if (!work) throw new Error('nothing is due')
  return { id: work.delivery.id, claimedBy: store.instanceId, attempt: work.delivery.attempt, at: AT + HOUR }
}
const hand = (store: Store, one: Claim) => store.markHanded({ ...one, record: RECORD })

const contactOf = async (email = ADA): Promise<number> => (await first.findContact(1, email))?.id ?? 0
const stateOf = async ({ id }: Claim): Promise<string> => {
  const [row] = await first.listDeliveriesById([id])
  return `${row?.state} ${row?.reason}`
}
const UPDATED = 'UPDATE ON deliveries FOR EACH ROW'
const updated = ({ id }: Claim): string => `${UPDATED} WHEN (NEW.id = ${id})`

test('of two emails to one person that are handed over at once, the second waits for the limit', async () => {
  await goLive()
  done(await first.setMailSettings({ ...BY, appId: 1, settings: { perPersonDay: 1 } }))
  const [one, other] = [await claim(first), await claim(second, ADA, AT + 1)]
  await closeGate(UPDATED)
  const outcomes = await race({ early: () => hand(first, one), late: () => hand(second, other) })
  expect(outcomes).toEqual([{ isMarked: true }, { isMarked: false, because: 'perDay' }])
})

describe('an email that is being handed over stays handed', () => {
  const LATE: [string, () => Promise<unknown>][] = [
    ['its person unsubscribes', async () => second.unsubscribe({ contactId: await contactOf(), at: AT })],
    [
      'its person ends the topic',
      async () => second.chooseTopics({ contactId: await contactOf(), end: ['Tips'], resume: [], actor: null, at: AT }),
    ],
    [
      'its person is suppressed with others',
      () => second.suppressMany({ appId: 1, at: AT, noted: null, rows: [{ email: ADA, reason: 'bounced' }] }),
    ],
    ['an event cancels it', () => second.recordEvent(eventWrite({ name: 'paid', at: AT + 1 }))],
  ]
  test.each(LATE)('while %s', async (_, late) => {
    await goLive({ topic: 'Tips', onlyIf: [{ rule: 'notDone', event: 'paid' }] })
    const one = await claim(first)
    await closeGate(updated(one))
    const [marked] = await race({ early: () => hand(first, one), late })
    expect([marked, await stateOf(one)]).toEqual([{ isMarked: true }, 'handed null'])
    expect(await first.markSent(one)).toEqual({ isMarked: true })
  })

  test('while another email of its person bounces', async () => {
    await goLive()
    done(await first.setMailSettings({ ...BY, appId: 1, settings: { perPersonDay: null } }))
    const [sent, one] = [await claim(first), await claim(first, ADA, AT + 1)]
    await hand(first, sent)
    await first.markSent(sent)
    await closeGate(updated(one))
    const reports = [{ deliveryId: sent.id, kind: 'bounced', reason: '550' } as const]
    const late = () => second.reportDeliveries({ appId: 1, provider: null, at: AT + HOUR, reports })
    await race({ early: () => hand(first, one), late })
    expect([await stateOf(sent), await stateOf(one)]).toEqual(['bounced 550', 'handed null'])
  })
})

test('of two reports at once, a complaint is not replaced by a delivery', async () => {
  await goLive({ ifUnconfirmed: 'leave' })
  const one = await claim(first)
  await hand(first, one)
  done(await first.markUnknown({ ...one, reason: 'timeout', isFinal: true }))
  await closeGate(updated(one))
  const report = (store: Store, kind: 'complained' | 'delivered') => () =>
    store.reportDeliveries({
      appId: 1,
      provider: null,
      at: AT + HOUR,
      reports: [{ deliveryId: one.id, kind, reason: kind }],
    })
  await race({ early: report(first, 'complained'), late: report(second, 'delivered') })
  expect(await stateOf(one)).toBe('complained complained')
})

describe('nothing is left of a person who is erased', () => {
  const LEFT = ['deliveries', 'captured_mails', 'people_results', 'compared_people', 'uncompared_people']
  const listLeft = async (): Promise<string[]> => {
    const counts = await Promise.all(LEFT.map(async (table) => ((await count(table)) > 0 ? [table] : [])))
    return counts.flat()
  }
  const erase = () => second.eraseContact({ ...BY, appId: 1, email: ADA })

  test('while their email is captured', async () => {
    await goLive()
    const one = await claim(first)
    await closeGate(updated(one))
    const [marked] = await race({
      early: () => first.markCaptured({ ...one, record: RECORD, ...CAPTURED }),
      late: erase,
    })
    expect([marked, await listLeft()]).toEqual([{ isMarked: true }, []])
  })

  test('while their email is claimed', async () => {
    await goLive({ holdback: 1 })
    done(await first.recordEvent(eventWrite()))
    await closeGate(UPDATED)
    const claiming = { claimedBy: first.instanceId, now: AT + HOUR, leaseMs: DAY, most: 1, skipApps: [] }
    const [claimed] = await race({ early: () => first.claimDeliveries(claiming), late: erase })
    expect([done(claimed).works.length, await listLeft()]).toEqual([1, []])
  })

  test('by a transaction that holds only the email', async () => {
    await goLive()
    const one = await claim(first)
    const holder = new Bun.SQL(server.url('postgres'), { max: 1 })
    await holder.unsafe(`BEGIN; UPDATE deliveries SET state = 'handed', handed_at = ${AT} WHERE id = ${one.id};
      INSERT INTO captured_mails (delivery_id, app_id, raw, created_at) VALUES (${one.id}, 1, 'raw', ${AT});
      UPDATE deliveries SET state = 'unknown' WHERE id = ${one.id}`)
    const erasing = erase()
    while ((await countWaiting()) < 1);
    await holder.unsafe('COMMIT')
    await holder.close()
    expect([await erasing, await listLeft()]).toEqual([{ contactId: expect.any(Number) }, []])
  })
})

test('a person who leaves is seen by an email that waits for it since a moment', async () => {
  await goLive({ onlyIf: [{ rule: 'away', quietMinutes: 5 }] })
  const one = await claim(first)
  await closeGate(updated(one))
  const leave = { type: 'leave', name: null, path: '/', occurredAt: AT + HOUR } as const
  await race({
    early: () => first.markDeferred({ ...one, reason: 'unsure', dueAt: AT + DAY, record: RECORD }),
    late: () => second.recordVisitReport(visitReportWrite({ at: AT + HOUR, items: [leave] })),
  })
  expect((await first.listDeliveriesById([one.id]))[0]?.dueAt).toBe(AT + HOUR)
})

describe('a person has the status of their address', () => {
  const statusOf = async (): Promise<unknown> => (await first.findContact(1, ADA))?.status
  const record = () => first.recordEvent(eventWrite())
  const BOUNCED = { email: ADA, reason: 'bounced' } as const
  const by = { ...BY, why: 'asked' }
  const suppress = () => second.suppress({ appId: 1, at: AT, by, ...BOUNCED })
  const SUPPRESSING: [string, () => Promise<unknown>][] = [
    ['alone', suppress],
    ['with others', () => second.suppressMany({ appId: 1, at: AT, by, noted: 1, rows: [BOUNCED] })],
  ]
  const report = () => second.reportAddress({ appId: 1, at: AT, email: ADA, kind: 'bounced', reason: '550' })

  test.each([...SUPPRESSING, ['by a report', report]])(
    'that is suppressed %s while they are added',
    async (_, late) => {
      await closeGate('INSERT ON contacts FOR EACH ROW')
      await race({ early: record, late })
      expect([await statusOf(), await count('suppressions')]).toEqual(['bounced', 1])
    },
  )

  test.each(SUPPRESSING)('that was being suppressed %s when they were added', async (_, early) => {
    // the last that it writes
    await closeGate('INSERT ON audit_entries FOR EACH ROW')
    await race({ early, late: record })
    expect([await statusOf(), await count('suppressions')]).toEqual(['bounced', 1])
  })

  test('that is suppressed while they are added again after they were erased', async () => {
    for (let time = 0; time < 4; time += 1) await record()
    done(await second.eraseContact({ ...BY, appId: 1, email: ADA }))
    await closeGate('INSERT ON contacts FOR EACH ROW')
    await race({ early: record, late: suppress })
    expect([await statusOf(), await count('suppressions')]).toEqual(['bounced', 1])
  })

  test('that is freed while they are added', async () => {
    await suppress()
    await closeGate('INSERT ON contacts FOR EACH ROW')
    await race({ early: record, late: () => second.unsuppress({ appId: 1, email: ADA, at: AT }) })
    expect([await statusOf(), await count('suppressions')]).toEqual(['subscribed', 0])
  })

  test('that is not locked for those who are known', async () => {
    await record()
    const listLocks = () => database.unsafe(`SELECT number, xmax::text FROM address_locks WHERE xmax::text <> '0'`)
    const before = await listLocks()
    for (const store of [first, second]) await store.recordEvent(eventWrite({ name: 'e' }))
    await suppress()
    expect(before.length).toBeGreaterThan(0)
    expect(await listLocks()).toEqual(before)
  })
})

describe('one Idempotency-Key in two requests at once counts once', () => {
  const MISMATCH: Refused = { refusal: 'idempotency_mismatch' }
  const keyed = (bodyHash: string) => idempotency({ bodyHash })
  const GRACE = 'grace@example.com'
  const record = (store: Store, appId = 1) =>
    store.recordEvent(eventWrite({ appId, email: GRACE, idempotency: keyed(`event of ${appId}`) }))
  const closeGateOfKeys = () => closeGate('INSERT ON idempotency_records FOR EACH ROW')

  test('in two apps', async () => {
    await closeGateOfKeys()
    const [one, other] = await race({ early: () => record(first), late: () => record(second, 2) })
    expect([other, await count('events')]).toEqual([MISMATCH, 1])
    expect(await record(second)).toEqual({ ...done(one), replayed: true })
  })

  const claimAndCancel = async () => {
    await goLive()
    const { id } = await claim(second)
    return () => second.cancelDelivery({ appId: 1, id, at: AT, by: BY, idempotency: keyed('cancel') })
  }

  test('where an event is first', async () => {
    const cancel = await claimAndCancel()
    await closeGateOfKeys()
    const [one, other] = await race({ early: () => record(first), late: cancel })
    expect(other).toEqual(MISMATCH)
    expect(await record(second)).toEqual({ ...done(one), replayed: true })
  })

  test('where another change is first', async () => {
    const cancel = await claimAndCancel()
    await closeGateOfKeys()
    const [one, other] = await race({ early: cancel, late: () => record(first) })
    expect(other).toEqual(MISMATCH)
    expect(await cancel()).toEqual({ ...done(one), replayed: true })
  })
})

describe('while a write waits for its first row, it holds none of those that follow', () => {
  type Order = { change: string; later: string[]; early: () => Promise<unknown>; late: () => Promise<unknown> }
  const expectInOrder = async ({ change, later, early, late }: Order): Promise<void> => {
    await closeGate(change)
    let seen: number[] = []
    const meanwhile = async (): Promise<void> =>
      void (seen = [await countWaiting(), ...(await mapInOrder(later, countFree))])
    await race({ early, late, meanwhile })
    expect(seen).toEqual([2, ...later.map(() => 1)])
  }

  /** The person with the lower id comes last by their address. */
  const [LOW, HIGH] = ['z@example.com', 'a@example.com']
  const claimBoth = async () => {
    await goLive()
    const [low, high] = [await claim(first, LOW), await claim(second, HIGH, AT + 1)]
    const later = [`contacts WHERE email = '${HIGH}'`, `deliveries WHERE id = ${high.id}`]
    return { low, high, other: await claim(second, LOW, AT + 2), later }
  }

  test('hand-overs', async () => {
    const { low, high, other, later } = await claimBoth()
    const late = () => Promise.all([hand(second, high), hand(second, other)])
    await expectInOrder({ change: updated(low), later, early: () => hand(first, low), late })
  })

  test('events', async () => {
    const { low, later } = await claimBoth()
    const late = () => Promise.all([HIGH, LOW].map((email) => second.recordEvent(eventWrite({ email, name: 'e' }))))
    await expectInOrder({ change: updated(low), later, early: () => hand(first, low), late })
  })

  test('the message that a sent email triggers', async () => {
    const { low, other } = await claimBoth()
    await hand(second, other)
    const late = () => second.markSent(other)
    await expectInOrder({
      change: updated(low),
      later: [`deliveries WHERE id = ${other.id}`],
      early: () => hand(first, low),
      late,
    })
  })

  test('emails that are tried again', async () => {
    const { low, high, other } = await claimBoth()
    for (const [one, dueAt] of [
      [low, AT + 2 * DAY],
      [high, AT + DAY],
    ] as const) {
      const store = one === low ? first : second
      await store.markDeferred({ ...one, reason: 'econnection', dueAt, record: RECORD })
    }
    await hand(second, other)
    const change = { appId: 1, id: low.id, at: AT + HOUR, by: BY, idempotency: null }
    await expectInOrder({
      change: updated(low),
      later: [`deliveries WHERE id = ${high.id}`],
      early: () => first.sendDeliveryEarly(change),
      late: () => second.retryUnreached({ appIds: [1], at: AT + HOUR }),
    })
  })

  test('the use of keys', async () => {
    const key = { id: 'key_2', name: 'Second', scope: 'standard', keyHash: 'h', ending: 'endh' } as const
    done(await first.createKey({ ...BY, key, form: null }))
    const use = (store: Store, ids: string[]) => () =>
      store.noteKeyUse(ids.map((keyId) => ({ keyId, lastUsedAt: AT, seenInBrowserAt: null })))
    await expectInOrder({
      change: 'UPDATE ON api_keys FOR EACH ROW',
      later: [`api_keys WHERE id = 'key_2'`],
      early: use(first, ['key_1']),
      late: use(second, ['key_2', 'key_1']),
    })
  })

  test('limits that were idle', async () => {
    const limits = [{ bucket: 'events:key_1', max: 9, windowMs: HOUR }]
    const use = (store: Store, email: string) => () => store.recordEvent(eventWrite({ email, limits }))
    await use(second, ADA)()
    await database.unsafe('DELETE FROM limit_windows')
    await expectInOrder({
      change: 'INSERT ON limit_windows FOR EACH ROW',
      later: [`contacts WHERE email = '${ADA}'`],
      early: use(first, 'grace@example.com'),
      late: use(second, ADA),
    })
    expect(await count('limit_windows WHERE total = 2')).toBe(1)
  })

  test('waits for limits', async () => {
    const save = (store: Store, apps: number[]) => () =>
      store.saveLimitWaits({ waits: apps.map((appId) => ({ appId, from: AT, until: AT + HOUR })) })
    await save(first, [1, 2])()
    await expectInOrder({
      change: 'UPDATE ON limit_waits FOR EACH ROW',
      later: ['limit_waits WHERE app_id = 2'],
      early: save(first, [1]),
      late: save(second, [2, 1]),
    })
  })

  test('notes of apps', async () => {
    const note = (store: Store, apps: number[]) => () =>
      store.addNotes(
        apps.map((appId) => ({ appId, kind: 'old_secret', count: 1, lastAt: AT, reason: null, origin: null })),
      )
    await note(first, [1, 2])()
    await expectInOrder({
      change: 'UPDATE ON activation_notes FOR EACH ROW',
      later: ['activation_notes WHERE app_id = 2'],
      early: note(first, [1]),
      late: note(second, [2, 1]),
    })
  })
})

const REQUEST = {
  pool: 'accepted',
  accountId: 'acc_1',
  appId: 1,
  at: AT,
  method: 'GET',
  path: '/',
  tool: null,
  status: 200,
  code: null,
  field: null,
  requestId: 'r',
  count: 1,
} as const

test('a clean-up that still deletes holds no limit', async () => {
  const limits = [{ bucket: 'events:key_1', max: 9, windowMs: HOUR }]
  done(await first.recordEvent(eventWrite({ limits, idempotency: idempotency() })))
  await database.unsafe('UPDATE limit_usage SET second = second - 7200')
  await closeGate('DELETE ON idempotency_records FOR EACH ROW')
  let free = 0
  const late = async (): Promise<void> => void (free = await countFree('limit_windows'))
  const [cleaned] = await race({ early: () => first.cleanUp({ at: AT + 400 * DAY }), late })
  done(cleaned)
  expect([free, await count('limit_usage')]).toEqual([1, 0])
})

describe('the first email of an app that has a text of its own', () => {
  const send = (store: Store, email: string) => () => store.sendMail({ ...SEND, email })
  const SEND: SendWrite = {
    ...eventWrite(),
    keyId: 'key_1',
    messageId: null,
    mail: { subject: 'S', body: 'B' },
    unlinked: 0,
  }

  test('does not wait for a change of settings', async () => {
    await closeGate('INSERT ON app_mail_settings FOR EACH ROW')
    let waiting = 0
    const meanwhile = async (): Promise<void> => void (waiting = await countWaiting())
    const early = () => first.setMailSettings({ ...BY, appId: 1, settings: { perPersonDay: 2 } })
    const [, sent] = await race({ early, late: send(second, ADA), meanwhile })
    expect([waiting, done(sent).created]).toEqual([1, true])
  })

  test('is one of two that are sent at once', async () => {
    await send(second, ADA)()
    await database.unsafe('TRUNCATE messages, message_versions, deliveries')
    await goLive()
    await second.recordEvent(eventWrite())
    await closeGate('INSERT ON messages FOR EACH ROW')
    const sent = await race({ early: send(first, 'a@example.com'), late: send(second, 'b@example.com') })
    expect(sent.map((one) => done(one).created)).toEqual([true, true])
    expect(await count(`messages WHERE name = ''`)).toBe(1)
  })
})

test('a full log of requests is cut without waiting for a caller that another instance counts', async () => {
  const add = (store: Store, caller: string, n: number) => () =>
    store.addRequests(Array.from({ length: n }, () => ({ ...REQUEST, caller })))
  await add(first, 'key_1', 4)()
  await closeGate(`UPDATE ON request_callers FOR EACH ROW WHEN (NEW.caller = 'key_1')`)
  let waiting = 0
  const meanwhile = async (): Promise<void> => void (waiting = await countWaiting())
  await race({ early: add(first, 'key_1', 1), late: add(second, 'key_2', 1), meanwhile })
  const counted = await database.unsafe('SELECT caller, rows FROM request_callers ORDER BY caller')
  const stored = await database.unsafe('SELECT caller, count(*) AS rows FROM requests GROUP BY caller ORDER BY caller')
  const listed = (rows: { caller: string; rows: unknown }[]) => rows.map(({ caller, rows: n }) => [caller, Number(n)])
  expect([waiting, listed(counted), listed(stored)]).toEqual([
    1,
    [
      ['key_1', 3],
      ['key_2', 1],
    ],
    [
      ['key_1', 3],
      ['key_2', 1],
    ],
  ])
})

test('new people and what instances note about requests never wait for each other in a circle', async () => {
  const keys = ['key_1', 'key_2']
  const note = (store: Store, turn: number): Promise<unknown>[] => {
    const [mine = '', other = ''] = turn % 2 === 0 ? keys : keys.toReversed()
    const event = (name: string) =>
      store.recordEvent(eventWrite({ email: `${name}${turn}@example.com`, at: AT + turn }))
    const person = (name: string): Promise<unknown> => event(`${store.instanceId}-${name}`)
    const requests = () => store.addRequests([mine, other].map((caller) => ({ ...REQUEST, caller })))
    const uses = () => store.noteKeyUse(keys.map((keyId) => ({ keyId, lastUsedAt: AT + turn, seenInBrowserAt: null })))
    return store === first
      ? [person('a'), requests(), person('b'), uses(), store.canCommit()]
      : [uses(), person('a'), store.canCommit(), requests(), person('b')]
  }
  for (let turn = 0; turn < 30; turn += 1) await Promise.all([...note(first, turn), ...note(second, turn)])
  expect(readFileSync(join(server.folder, 'log'), 'utf8').match(/deadlock detected/g) ?? []).toEqual([])
})
