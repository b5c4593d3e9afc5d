import { locationOf, withSql } from '../../data-folder.ts'
import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { isRefusal, type Refusal } from '../../../src/core/refusals.ts'
import {
  createSimulations,
  type Simulation,
  type SimulationInput,
  type Simulations,
} from '../../../src/deliveries/simulation/index.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import type { AppRow } from '../../../src/store/types.ts'
import { CONTACTS, DAY, HOUR, inTurns, type TestServer } from '../../helper.ts'
import { leave, messageOf, MINUTE, type Messaging, page } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()
let at: Simulating
let server: TestServer
/** A Friday at noon. */
let now: number
let messaging: Messaging
beforeEach(async () => {
  at = await openSimulating()
  ;({ server, messaging } = at)
  now = server.clock.now()
})

const iso = (ms: number): string => new Date(ms).toISOString()

const contactWrite = ({ accountId, id: appId }: AppRow, email: string) => ({
  accountId,
  appId,
  email,
  shownEmail: null,
  newPeoplePerMonth: null,
  limits: [],
  idempotency: null,
})

const of = (email: string) => ({ email, properties: { url: 'https://first.example/results/1' } })

async function play(): Promise<void> {
  const people = ['left', 'stayed', 'saw', 'stranger', 'paid', 'crashed'].map((name) => `${name}@example.com`)
  const [left = '', stayed = '', saw = '', stranger = '', paid = '', crashed = ''] = people
  for (const email of people) await messaging.event({ ...of(email), event: 'signed_up' })
  server.clock.tick(HOUR)
  for (const email of [left, stayed, saw, paid, crashed]) await at.browse(email, page('/wait'))
  server.clock.tick(MINUTE)
  for (const email of [left, saw, paid]) await at.browse(email, leave('/wait'))
  server.clock.tick(MINUTE)
  for (const email of people) await messaging.event(of(email))
  server.clock.tick(MINUTE)
  await at.browse(saw, page('/results/1'))
  await messaging.event({ email: paid, event: 'checkout.paid' })
  await messaging.event(of(stranger))
  server.clock.tick(20 * MINUTE)
  await at.browse(stayed, leave('/wait'))
}

const LEFT: Partial<MessageContent> = {
  wait: { minutes: 10 },
  onlyIf: [
    { rule: 'notSeen' },
    { rule: 'notDone', event: 'checkout.paid' },
    { rule: 'away', at: 'trigger' },
    { rule: 'away', minutes: 5 },
    { rule: 'tag', lacks: 'vip' },
  ],
}

test('decides as the live message did', async () => {
  await messaging.put(messageOf({ name: 'Live', ...LEFT }))
  await play()
  server.clock.tick(HOUR)
  await messaging.decide()
  const deliveries = await messaging.deliveries()
  const live = await Promise.all(
    deliveries.map(async ({ contactId, state, reason }) => {
      const contact = await messaging.store().byId(contactId)
      return [contact?.email ?? null, state === 'sent' ? 'send' : reason]
    }),
  )
  const simulation = await at.simulate(LEFT)
  const lines = simulation.lines.map(({ email, outcome }) => [email, outcome])
  expect(lines.filter(([, outcome]) => outcome !== 'again').toSorted()).toEqual(live.toSorted())
  expect(live.map(([, outcome]) => outcome).toSorted()).toEqual(['done', 'not_away', 'seen', 'send', 'send', 'send'])
  expect(simulation).toMatchObject({ triggered: 7, counts: { send: 3, not_away: 1, seen: 1, done: 1, again: 1 } })
})

test('counts a person who confirmed the address as new from then on, and nobody who has not', async () => {
  const content = { trigger: { contact: 'created' as const } }
  const optIn = { isOn: true, days: null, storesIp: false, subject: null, body: null, button: null }
  await messaging.set({ optIn })
  await messaging.put(messageOf({ name: 'Live', ...content }))
  const [asked, silent, added] = ['asked@example.com', 'silent@example.com', 'added@example.com']
  for (const [email, consent] of [
    [asked, 'pending'],
    [silent, 'pending'],
    [added, undefined],
  ])
    await server.call('POST', CONTACTS, { body: { newsletter: server.first.appId, email, consent } })
  server.clock.tick(HOUR)
  const store = messaging.store()
  const person = await store.findContact(messaging.app.id, asked)
  const [consent] = await store.listConsents(person?.id ?? 0)
  const confirming = { ...contactWrite(messaging.app, asked), at: server.clock.now(), address: null }
  await store.confirmConsent({ ...confirming, consentId: consent?.id ?? 0 })
  server.clock.tick(MINUTE)
  const byMessage = async () =>
    (await messaging.decide()).flatMap(({ name, email, verdict }) => (name === 'Live' ? [[email, verdict]] : []))
  expect(await byMessage()).toEqual([
    [added, 'send'],
    [asked, 'send'],
  ])
  const { lines, triggered } = await at.simulate(content)
  expect([
    triggered,
    lines.map(({ email, outcome, triggeredAt }) => [email, outcome, server.clock.now() - triggeredAt]),
  ]).toEqual([
    2,
    [
      [asked, 'send', MINUTE],
      [added, 'send', HOUR + MINUTE],
    ],
  ])
})

test('lists and counts one person alone, also behind hundreds of later ones', async () => {
  await messaging.event(of('early@example.com'))
  server.clock.tick(MINUTE)
  await inTurns(150, (index) => messaging.event(of(`p${index}@example.com`)))
  server.clock.tick(MINUTE)
  const contact = await messaging.store().findContact(messaging.app.id, 'early@example.com')
  const emails = (lines: { email: string | null }[]) => lines.map(({ email }) => email)
  expect(emails((await at.simulate({})).lines)).not.toContain('early@example.com')
  const { triggered, counts, lines } = await at.simulate({}, { contactId: contact?.id })
  expect([triggered, counts, emails(lines)]).toEqual([1, { send: 1 }, ['early@example.com']])
})

test('waits for a person on a silent page', async () => {
  await play()
  expect((await at.simulate(LEFT)).counts).toMatchObject({ waiting: 2 })
  server.clock.tick(10 * MINUTE)
  expect((await at.simulate(LEFT)).counts).toMatchObject({ not_away: 1, send: 3 })
})

test('changes nothing, and names the rules that use current data', async () => {
  await play()
  server.clock.tick(HOUR)
  const { lines } = await at.simulate(LEFT)
  expect(await messaging.deliveries()).toEqual([])
  const line = lines.find(({ outcome }) => outcome === 'send')
  expect(line?.verdicts.map(({ rule, isToday = false }) => [rule, isToday])).toEqual([
    ['notSeen', false],
    ['notDone', false],
    ['away', false],
    ['away', false],
    ['tag', true],
  ])
  expect(line).toMatchObject({
    triggeredAt: server.clock.now() - HOUR - 21 * MINUTE,
    dueAt: server.clock.now() - HOUR - 11 * MINUTE,
  })
})

describe('considers', () => {
  const outcomes = async (content: Partial<MessageContent>, changes: Partial<SimulationInput> = {}) =>
    (await at.simulate(content, changes)).counts

  test('the requested days, and emails due by now', async () => {
    await messaging.event(of('old@example.com'))
    server.clock.tick(7 * DAY)
    await messaging.event(of('new@example.com'))
    server.clock.tick(1)
    expect(await outcomes({})).toEqual({ send: 1 })
    expect(await outcomes({}, { days: 8 })).toEqual({ send: 2 })
    expect(await outcomes({ wait: { minutes: 10 } }, { days: 8 })).toEqual({ send: 1, waiting: 1 })
  })

  test('conditions, "once" and suppressions', async () => {
    for (const n of [1, 2, 2]) await messaging.event({ properties: { n } })
    await messaging.event({ email: 'gone@example.com', properties: { n: 1 } })
    await messaging
      .store()
      .suppress({ appId: messaging.app.id, email: 'gone@example.com', reason: 'unsubscribed', at: 1 })
    server.clock.tick(1)
    const where = [{ property: 'n', is: 'above' as const, to: 1 }]
    expect(await outcomes({ trigger: { event: 'results_ready', where } })).toEqual({ send: 1, again: 1 })
    expect(await outcomes({ again: { once: 'property', property: 'n' } })).toEqual({
      send: 2,
      again: 1,
      unsubscribed: 1,
    })
    expect(await outcomes({ mail: { subject: 'S', body: 'B', category: 'transactional' } })).toEqual({
      send: 2,
      again: 2,
    })
  })

  test('page views and new people, not tags', async () => {
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page('/pricing'), page('/docs/a'))
    server.clock.tick(1)
    expect(await outcomes({ trigger: { page: '/docs/*' } })).toEqual({ send: 1 })
    expect(await outcomes({ trigger: { contact: 'created' } })).toEqual({ send: 1 })
    expect(await server.parts().simulations.simulate(at.inputOf({ trigger: { tag: 'beta' } }))).toBeNull()
  })

  test('its own app only', async () => {
    const body = { app: server.second.appId, email: 'a@example.com', event: 'results_ready', createContact: true }
    await server.call('POST', '/api/v1/events', { key: server.second.apiKey, body })
    server.clock.tick(1)
    expect(await outcomes({})).toEqual({})
  })

  test('a send window: the email would be sent when it opens', async () => {
    await messaging.event()
    server.clock.tick(4 * DAY)
    const sendWindow = { days: [1], from: '09:00', until: '10:00' }
    const settings = { sendWindow, timezone: null, giveUpHours: null }
    const dueTimes = async (mail?: MessageContent['mail']) =>
      (await at.simulate(mail ? { mail } : {}, { settings })).lines.map(({ dueAt }) => iso(dueAt))
    expect(await dueTimes()).toEqual([iso(now + 3 * DAY - 3 * HOUR)])
    const transactional = { subject: 'S', body: 'B', category: 'transactional' as const }
    expect(await dueTimes(transactional)).toEqual([iso(now)])
  })

  test('a window that opens after the time to give up, and the facts at the due time', async () => {
    const settings = { sendWindow: { days: [1], from: '09:00', until: '10:00' }, timezone: null, giveUpHours: null }
    await messaging.event({ event: 'known' })
    server.clock.tick(MINUTE)
    await messaging.browse('a', page('/wait'))
    server.clock.tick(MINUTE)
    await messaging.event()
    server.clock.tick(8 * MINUTE)
    await messaging.browse('a', page('/other'))
    server.clock.tick(4 * DAY)
    const onlyIf: MessageContent['onlyIf'] = [{ rule: 'away', minutes: 5 }]
    const wait = { minutes: 10 }
    expect(await outcomes({ wait, onlyIf }, { settings })).toEqual({ left_too_recently: 1 })
    expect(await outcomes({ wait }, { settings })).toEqual({ send: 1 })
    expect(await outcomes({ wait }, { settings: { ...settings, giveUpHours: 24 } })).toEqual({ send: 1 })
  })

  test('an email whose window closed while it waited gets the next opening, as it does live', async () => {
    const onlyIf: MessageContent['onlyIf'] = [{ rule: 'away', at: 'trigger', minutes: 5 }]
    const sendWindow = { days: [0, 1, 2, 3, 4, 5, 6], from: '09:00', until: '12:20' }
    const settings = { sendWindow, timezone: null, giveUpHours: 2 }
    await messaging.set(settings)
    await messaging.put(messageOf({ name: 'Live', onlyIf }))
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page('/wait'))
    server.clock.tick(MINUTE)
    await messaging.event()
    expect(await messaging.decide()).toMatchObject([{ verdict: 'wait', reason: 'unsure' }])
    server.clock.tick(30 * MINUTE)
    expect(await messaging.decide()).toEqual([])
    expect(await outcomes({ onlyIf }, { settings })).toEqual({ waiting: 1 })
    const opensAt = now + 21 * HOUR
    server.clock.wallMs = opensAt
    expect(await messaging.decide()).toMatchObject([{ verdict: 'send' }])
    server.clock.tick(MINUTE)
    const { lines } = await at.simulate({ onlyIf }, { settings })
    expect(lines).toMatchObject([{ outcome: 'send', dueAt: opensAt }])
  })

  test('an email that waits longer than the time to give up is given up, as it is live', async () => {
    const onlyIf: MessageContent['onlyIf'] = [{ rule: 'away', quietMinutes: 180 }]
    const sendWindow = { days: [0, 1, 2, 3, 4, 5, 6], from: '09:00', until: '18:00' }
    const settings = { sendWindow, timezone: null, giveUpHours: 2 }
    await messaging.set(settings)
    await messaging.put(messageOf({ name: 'Live', onlyIf }))
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page('/wait'))
    server.clock.tick(MINUTE)
    await messaging.event()
    expect(await messaging.decide()).toMatchObject([{ verdict: 'skip', reason: 'gave_up' }])
    server.clock.tick(MINUTE)
    expect(await outcomes({ onlyIf }, { settings })).toEqual({ gave_up: 1 })
  })
})

test('considers the newest of over 10,000 triggers, and reports progress', async () => {
  await messaging.event(of('ada@example.com'))
  const contactId = await withSql(server.folder, async (sql) => {
    const read = sql.prepare<{ contactId: number }>('SELECT contact_id AS "contactId" FROM events WHERE app_id = ?')
    const found = await read.get(messaging.app.id)
    const copy = `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
      SELECT id + n, app_id, contact_id + n, name_id, type, via, received_at FROM events, numbers WHERE app_id = ?`
    await sql.prepare(copy).run(messaging.app.id)
    return found?.contactId ?? 0
  })
  server.clock.tick(MINUTE)
  const { simulations } = server.parts()
  const reached: number[] = []
  const onProgress = (): void => {
    const progress = simulations.progressOf(messaging.app.id)
    if (progress) reached.push(progress.done / progress.of)
  }
  expect(await simulations.simulate(at.inputOf({}), { onProgress })).toMatchObject({
    triggered: 10_000,
    hasMore: true,
    counts: { send: 10_000 },
  })
  expect(await at.simulate({}, { contactId })).toMatchObject({ triggered: 1, hasMore: false, counts: { send: 1 } })
  expect(reached.some((share) => share > 0 && share <= 1)).toBe(true)
  expect(simulations.progressOf(messaging.app.id)).toBeNull()
})

test('one after another use the same thread', async () => {
  await at.simulate(LEFT)
  const threads = spyOn(globalThis, 'Worker')
  await at.simulate(LEFT)
  await at.simulate({ ...LEFT, wait: { minutes: 20 } })
  const started = threads.mock.calls.length
  threads.mockRestore()
  expect(started).toBe(0)
})

describe('concurrent simulations', () => {
  const outcomeOf = async (asked: Promise<Simulation | Refusal | null>) => {
    const outcome = await asked
    return outcome && isRefusal(outcome) ? outcome.message : outcome?.triggered
  }
  const STOPPING = 'Eventpost is stopping. Simulate again in a moment.'

  beforeEach(async () => {
    await messaging.event()
    server.clock.tick(1)
  })

  test('all finish, and a failing one does not stop the next', async () => {
    const { simulate: simulateIn } = createSimulations({ folder: '/nowhere' })
    const failing = Promise.allSettled([simulateIn(at.inputOf({})), simulateIn(at.inputOf({}))])
    const { simulate: here } = server.parts().simulations
    expect(await Promise.all([here(at.inputOf({})), here(at.inputOf({}))].map(outcomeOf))).toEqual([1, 1])
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  test('of one app wait for those of others', async () => {
    const { simulate: here } = server.parts().simulations
    const done: number[] = []
    const ask = (appId: number) => here(at.inputOf({}, { appId })).then(() => done.push(appId))
    await Promise.all([7, 7, 7, 8, 9].map(ask))
    expect(done).toEqual([7, 7, 8, 9, 7])
  })

  test('are cancelled when the caller leaves, waiting or running', async () => {
    const { simulate: here } = server.parts().simulations
    const [running, waiting] = [new AbortController(), new AbortController()]
    const [first, second] = [
      here(at.inputOf({}), { signal: running.signal }),
      here(at.inputOf({}), { signal: waiting.signal }),
    ]
    const third = here(at.inputOf({}))
    waiting.abort()
    running.abort()
    expect(await Promise.all([first, second, third].map(outcomeOf))).toEqual([STOPPING, STOPPING, 1])
  })

  test('time out with a message', async () => {
    // no thread gets its work
    const silent = spyOn(Worker.prototype, 'postMessage').mockImplementation(() => {})
    const { simulate: simulateBriefly } = createSimulations(locationOf(server.folder), 1)
    const outcomes = await Promise.all(
      [simulateBriefly(at.inputOf({})), simulateBriefly(at.inputOf({}))].map(outcomeOf),
    )
    silent.mockRestore()
    const said = 'The simulation took longer than 90 seconds and was stopped. Try fewer days.'
    expect(outcomes).toEqual([said, said])
  })

  test('are refused during shutdown; a running one may finish within a limit', async () => {
    const [patient, hasty] = [
      createSimulations(locationOf(server.folder)),
      createSimulations(locationOf(server.folder)),
    ]
    const ask = (simulations: Simulations) =>
      Array.from({ length: 2 }, () => outcomeOf(simulations.simulate(at.inputOf({}))))
    const [finished, ended] = [ask(patient), ask(hasty)]
    await Promise.all([patient.stop(30_000), hasty.stop(0)])
    expect(await Promise.all(finished)).toEqual([1, STOPPING])
    expect(await Promise.all(ended)).toEqual([STOPPING, STOPPING])
    expect(await outcomeOf(patient.simulate(at.inputOf({})))).toBe(STOPPING)
  })
})
