import { withSql } from '../data-folder.ts'
import { countsTableOf, isOnPostgres } from '../postgres/test-databases.ts'
import { beforeEach, expect, test } from 'bun:test'
import { hookPath, makeHookToken, writeHookSecret } from '../../src/accounts/hook-secrets.ts'
import { publicId } from '../../src/core/ids.ts'
import { whenToGiveUp } from '../../src/deliveries/deliveries.ts'
import { resendMatching, toFailed } from '../../src/deliveries/delivery-lists.ts'
import { parseRecord } from '../../src/store/decision-records.ts'
import { useClosing } from '../closing.ts'
import { DAY, HOUR } from '../durations.ts'
import { CONTENT, type Sending, startSending } from './sending.ts'
import { postmarkBounce, postmarkComplaint } from './webhooks.ts'

const keep = useClosing()
const TOKEN = makeHookToken()

let sending: Sending
beforeEach(async () => {
  sending = keep(await startSending())
  await sending.setSettings({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'postmark', TOKEN) })
})

const COUNTS = countsTableOf('mail_days')
/** The part that the test itself wrote. */
const OF_TEST = isOnPostgres ? ' WHERE part = 0' : ''

const change = (text: string, ...values: number[]) =>
  withSql(sending.folder, async (sql) => await sql.prepare(text).run(...values))

/** As if so many emails had been sent today. */
async function haveSent(sent: number, counts: { bounced?: number; complained?: number } = {}): Promise<void> {
  const { bounced = 0, complained = 0 } = counts
  const day = Math.floor(sending.clock.now() / DAY)
  await change(`DELETE FROM ${COUNTS} WHERE app_id = ? AND day = ?`, sending.app.id, day)
  const insert = `INSERT INTO ${COUNTS} (app_id, day, sent, bounced, complained) VALUES (?, ?, ?, ?, ?)`
  await change(insert, sending.app.id, day, sent, bounced, complained)
}

/** As if more had been sent since. */
const haveMore = (sent: number, complained = 0) =>
  change(`UPDATE ${COUNTS} SET sent = sent + ?, complained = complained + ?${OF_TEST}`, sent, complained)

async function sendTo(email: string) {
  await sending.sendEvent(email)
  await sending.sendDue()
  const delivery = (await sending.deliveries()).find(({ state }) => state === 'sent')
  return { id: publicId('dlv', delivery?.id ?? 0), to: email }
}

const post = (webhook: ReturnType<typeof postmarkBounce>) =>
  sending.call('POST', hookPath('postmark', sending.app.publicId, TOKEN), { ...webhook, key: null })

const saveReceipt = () =>
  sending.store().saveMessages({
    accountId: sending.app.accountId,
    appId: sending.app.id,
    actor: 'test',
    at: sending.clock.now(),
    drafts: [
      {
        id: null,
        name: 'Receipt',
        status: 'live',
        content: { ...CONTENT, mail: { ...CONTENT.mail, category: 'transactional' } },
      },
    ],
  })

/** The fifth complaint of 1,000 emails. */
async function pullBrake(): Promise<void> {
  await haveSent(999, { complained: 4 })
  await post(postmarkComplaint(await sendTo('angry@example.com')))
}

const ofToday = async () => (await sending.store().listMailDays(sending.app.id, 0)).at(-1)
const check = () => sending.store().checkBrakes({ at: sending.clock.now() })
const audited = async () => {
  const query = { accountId: sending.app.accountId, kind: 'changes', before: null, limit: 50 } as const
  const entries = await sending.store().listAudit(query)
  return entries.map(({ actor, action }) => `${actor} ${action}`).filter((one) => one.includes('brake'))
}

test('holds lifecycle emails back at once, and transactional ones go on', async () => {
  await pullBrake()
  expect(await ofToday()).toMatchObject({ sent: 1_000, complained: 5 })
  await saveReceipt()
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'complained: complained': 1, 'deferred: brake': 1, sent: 1 })
  expect(await audited()).toEqual(['eventpost brake.pull'])
})

test('a member releases it: what waited is sent, and only later emails count', async () => {
  await pullBrake()
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  sending.clock.tick(HOUR)
  await sending.store().releaseBrake({ appId: sending.app.id, actor: 'mem_1', at: sending.clock.now() })
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'complained: complained': 1, sent: 1 })
  await post(postmarkComplaint(await sendTo('ada@example.com')))
  expect(await sending.store().findBrake(sending.app.id)).toBeNull()
  expect(await audited()).toEqual(['mem_1 brake.release', 'eventpost brake.pull'])
})

test('after a release, late reports about earlier emails do not count', async () => {
  const earlier = []
  for (let index = 0; index < 6; index += 1) earlier.push(await sendTo(`early${index}@example.com`))
  await haveSent(995, { complained: 4 })
  await post(postmarkComplaint(await sendTo('angry@example.com')))
  sending.clock.tick(HOUR)
  await sending.store().releaseBrake({ appId: sending.app.id, actor: 'mem_1', at: sending.clock.now() })
  await haveMore(200)
  for (const one of earlier.slice(0, 5)) await post(postmarkComplaint(one))
  await post(postmarkBounce(earlier[5] ?? { id: '', to: '' }))
  expect(await ofToday()).toMatchObject({ sent: 1_196, complained: 10, bounced: 1 })
  expect(await sending.store().findBrake(sending.app.id)).toBeNull()
  await haveMore(0, 4)
  await post(postmarkComplaint(await sendTo('later@example.com')))
  expect(await sending.store().findBrake(sending.app.id)).toMatchObject({ failures: 5, emails: 201 })
})

test('releases itself when the rate has fallen, and the time uses nothing up', async () => {
  await pullBrake()
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  for (let day = 0; day < 6; day += 1) {
    sending.clock.tick(DAY)
    await check()
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'complained: complained': 1, 'deferred: brake': 1 })
  }
  sending.clock.tick(DAY)
  await check()
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'complained: complained': 1, sent: 1 })
  expect(await audited()).toEqual(['eventpost brake.end', 'eventpost brake.pull'])
})

test('the time uses up nothing of lifecycle emails, and gives transactional ones none', async () => {
  await saveReceipt()
  await sending.sendEvent('ada@example.com')
  await pullBrake()
  sending.clock.tick(30 * DAY)
  await check()
  const works = await Promise.all((await sending.deliveries()).map(({ id }) => sending.store().findWork(id)))
  const waited = works.flatMap((work) => {
    if (work?.contact.email !== 'ada@example.com') return []
    const isTransactional = work.message.content.mail.category === 'transactional'
    return { isTransactional, days: Math.round((whenToGiveUp(work) - work.delivery.plannedAt) / DAY) }
  })
  expect(waited.toSorted((a, b) => a.days - b.days)).toEqual([
    { isTransactional: true, days: 3 },
    { isTransactional: false, days: 33 },
  ])
})

test('holds back failed emails that are sent again in bulk, but not a single one', async () => {
  let reply: 'accept' | 550 = 550
  sending = keep(await startSending({}, { recipient: () => reply }))
  for (const email of ['ada@example.com', 'bob@example.com']) await sending.sendEvent(email)
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'failed: smtp_550': 2 })
  await haveSent(1_000, { complained: 5 })
  await sending.setSettings({ complaintLimit: 0.2 })
  reply = 'accept'
  const { clock, app } = sending
  const filter = toFailed({ contactId: null, messageId: null, reason: null, before: null })
  const deps = { store: sending.store(), clock }
  expect(await resendMatching(deps, app, { filter, until: null, actor: 'key_1' })).toMatchObject({ sent: 2 })
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'deferred: brake': 2 })
  const [first] = await sending.deliveries()
  await deps.store.resendDelivery({ appId: app.id, id: first?.id ?? 0, at: clock.now() })
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'deferred: brake': 1, sent: 1 })
  await deps.store.releaseBrake({ appId: app.id, actor: 'mem_1', at: clock.now() })
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 2 })
  const records = (await sending.deliveries()).map(({ record }) => parseRecord(record)?.verdicts ?? [])
  expect(records.map((verdicts) => verdicts.some(({ rule }) => rule === 'brake'))).toEqual([true, false])
})

test('a higher limit ends it', async () => {
  await pullBrake()
  await sending.setSettings({ complaintLimit: 0.6 })
  expect(await sending.store().findBrake(sending.app.id)).toBeNull()
})

test('hard bounces count, and soft ones do not', async () => {
  await haveSent(0)
  await post(postmarkBounce(await sendTo('soft@example.com'), 'SoftBounce'))
  expect(await ofToday()).toMatchObject({ sent: 1, bounced: 0, complained: 0 })
  const hard = await sendTo('hard@example.com')
  await post(postmarkBounce(hard))
  expect(await ofToday()).toMatchObject({ sent: 2, bounced: 1, complained: 0 })
  await post(postmarkComplaint(hard))
  expect(await ofToday()).toMatchObject({ sent: 2, bounced: 0, complained: 1 })
})

test('a mailbox that does not exist is a bounce, and pulls it', async () => {
  sending = keep(await startSending({}, { recipient: () => 550, unknownMailbox: true }))
  await haveSent(99, { bounced: 9 })
  await sending.sendEvent('nobody@example.com')
  await sending.sendDue()
  expect(await ofToday()).toMatchObject({ sent: 100, bounced: 10 })
  expect(await sending.store().findBrake(sending.app.id)).toMatchObject({ kind: 'bounces', failures: 10, emails: 100 })
})

test('emails that waited are woken for one app per check', async () => {
  await change('INSERT INTO mail_brakes (app_id, is_waking) VALUES (1001, 1), (1002, 1)')
  expect(await check()).toEqual({ isMore: true })
  expect(await check()).toEqual({ isMore: false })
})
