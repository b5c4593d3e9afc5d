/** What one app's slow mail server leaves to the others. */
import { expect, test } from 'bun:test'
import { createApp } from '../../src/accounts/accounts.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { CLAIMED, IN_THE_AIR } from '../../src/mail/shares.ts'
import { useClosing } from '../closing.ts'
import { EVENTS, inTurns } from '../helper.ts'
import { CONTENT, live, MINUTE, RESULTS, type Sending, startSecond, startSending } from './sending.ts'

const keep = useClosing()

const SLOW = 'smtp://slow.example'
const QUICK = 'smtp://quick.example'
/** Far below what a mail may take, and far above what a quick one takes. */
const AT_ONCE_MS = 3_000

/** Mail servers that take a mail at once, or, those called slow, when `answer` is called. */
async function startServers() {
  const sent: string[] = []
  const waiting: (() => void)[] = []
  let [isSlow, most] = [true, 0]
  const createProvider = (url: string): Provider => ({
    send: async ({ to }, handOver) => {
      if (isSlow && url.includes('slow'))
        await new Promise<void>((resolve) => (most = Math.max(most, waiting.push(resolve))))
      if (!(await handOver())) return { is: 'withheld' }
      sent.push(to)
      return { is: 'sent' }
    },
    close: () => {},
  })
  const sending = await startSending({}, {}, { createProvider })
  const answer = (): void => waiting.splice(0).forEach((resolve) => resolve())
  const end = (): void => {
    isSlow = false
    answer()
  }
  keep({
    close: async () => {
      end()
      await sending.close()
    },
  })
  await sending.setSettings({ smtpUrl: SLOW, perSecond: 1_000 })
  return { sending, sent, answer, end, waiting: () => waiting.length, most: () => most }
}

/** Whether it comes to that soon. */
async function isSoon(said: () => boolean, ms = AT_ONCE_MS): Promise<boolean> {
  const until = performance.now() + ms
  while (!said() && performance.now() < until) await Bun.sleep(5)
  return said()
}

type Added = { name: string; mails: number; smtpUrl?: string }

/** Another app of the first account, at a slow server of its own or at another, with so many mails due. */
async function addSlowApp(
  { store, first, clock, call, parts }: Sending,
  { name, mails, smtpUrl = `smtp://slow-${name}.example` }: Added,
) {
  const by = { store: store(), now: clock.now(), actor: 'test' }
  const made = await createApp(by, first.accountId, { name, domains: [`${name}.example`], home: null })
  if ('refusal' in made) throw new Error(made.refusal)
  const app = (await store().listApps(first.accountId)).find((one) => one.name === name)
  if (!app) throw new Error('the app is not there')
  const change = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  await store().setMailSettings({ ...change, settings: { smtpUrl } })
  await store().saveMessages({ ...change, drafts: [{ id: null, name: 'M', status: 'live', content: CONTENT }] })
  parts().access.forget()
  const event = { app: app.publicId, event: 'results_ready', createContact: true, properties: RESULTS }
  await inTurns(mails, (index) => call('POST', EVENTS, { body: { ...event, email: `p${index}@example.com` } }))
}

test('a slow mail server of one account holds up no other', async () => {
  const { sending, sent, end, most } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  await sending.sendEvents(300)
  sending.clock.tick(1)
  await sendSecond('before@example.com')
  const running = sending.sendDue()
  expect(await isSoon(() => sent.length === 1)).toBe(true)
  // nor does what comes while all of that is in the air
  await sendSecond('after@example.com')
  expect(await isSoon(() => sent.length === 2)).toBe(true)
  expect(sent).toEqual(['before@example.com', 'after@example.com'])
  end()
  await running
  expect([sent.length, most()]).toEqual([302, IN_THE_AIR])
})

test('at a server that both use, a mail waits for a few of another account, and not for all', async () => {
  const { sending, sent, answer, end, waiting } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: SLOW })
  await sending.sendEvents(80)
  sending.clock.tick(1)
  await sendSecond('one@example.com')
  const running = sending.sendDue()
  for (let wave = 0; wave < 4; wave += 1) {
    expect(await isSoon(() => waiting() === IN_THE_AIR)).toBe(true)
    answer()
  }
  expect(await isSoon(() => sent.includes('one@example.com'))).toBe(true)
  expect(sent.length).toBeLessThanOrEqual(4 * IN_THE_AIR)
  end()
  await running
  expect(sent.length).toBe(81)
})

test('however many apps are slow, what is claimed is bounded, and a place is left', async () => {
  const { sending, sent, end } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  await sending.sendEvents(60)
  await inTurns(29, (index) => addSlowApp(sending, { name: `a${index}`, mails: 30 }))
  sending.clock.tick(1)
  await sendSecond('one@example.com')
  const running = sending.sendDue()
  expect(await isSoon(() => sent.length === 1)).toBe(true)
  const { claimed = 0 } = await countStates(sending)
  expect(claimed).toBeWithin(CLAIMED / 2, CLAIMED)
  end()
  await running
  expect(sent.length).toBe(60 + 29 * 30 + 1)
}, 30_000)

test('however many apps wait at one slow login, another login is not waited for', async () => {
  const { sending, sent, end, waiting, most } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  const apps = CLAIMED + 20
  await inTurns(apps, (index) => addSlowApp(sending, { name: `a${index}`, mails: 1, smtpUrl: SLOW }))
  sending.clock.tick(1)
  await sendSecond('before@example.com')
  const running = sending.sendDue()
  // none of the slow ones lands before it is told to, however long that takes
  expect(await isSoon(() => sent.length === 1, 15_000)).toBe(true)
  expect(await isSoon(() => waiting() === IN_THE_AIR, 15_000)).toBe(true)
  await sendSecond('after@example.com')
  expect(await isSoon(() => sent.length === 2, 15_000)).toBe(true)
  expect(sent).toEqual(['before@example.com', 'after@example.com'])
  const { claimed = 0 } = await countStates(sending)
  expect(claimed).toBeWithin(IN_THE_AIR, CLAIMED * 0.75)
  end()
  await running
  expect([sent.length, most()]).toEqual([apps + 2, IN_THE_AIR])
}, 60_000)

test('an app that waits long for its pace holds up no other', async () => {
  const { sending, sent, end } = await startServers()
  end()
  await sending.setSettings({ perSecond: 1 })
  await sending.sendEvents(30)
  await sending.sender().start()
  expect(await isSoon(() => sent.length === 10)).toBe(true)
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  await sendSecond('one@example.com')
  expect(await isSoon(() => sent.length === 11)).toBe(true)
  expect(sent.at(-1)).toBe('one@example.com')
})

test('what waited until its lease was shorter than a mail may take is not begun, but claimed anew', async () => {
  const { sending, sent, answer, end, waiting } = await startServers()
  await sending.sendEvents(18)
  const running = sending.sendDue()
  expect(await isSoon(() => waiting() === IN_THE_AIR)).toBe(true)
  sending.clock.tick(4 * MINUTE)
  answer()
  await running
  expect(await sending.states()).toEqual({ sent: IN_THE_AIR, claimed: 8 })
  end()
  await live(sending, MINUTE)
  expect([await sending.states(), new Set(sent).size, sent.length]).toEqual([{ sent: 18 }, 18, 18])
})

test('it waits for a place without asking the store again and again', async () => {
  const { sending, end, waiting } = await startServers()
  await sending.sendEvents(60)
  const store = sending.store()
  const { listDueApps } = store
  let asked = 0
  store.listDueApps = (input) => {
    asked += 1
    return listDueApps(input)
  }
  const running = sending.sendDue()
  expect(await isSoon(() => waiting() === IN_THE_AIR)).toBe(true)
  await Bun.sleep(300)
  expect(asked).toBeLessThanOrEqual(5)
  end()
  await running
  expect(await sending.states()).toEqual({ sent: 60 })
})

async function countStates({ store, first }: Sending): Promise<Record<string, number>> {
  const apps = await store().listApps(first.accountId)
  const query = { messageId: null, contactId: null, states: null, before: null, limit: 10_000 }
  const rows = (await Promise.all(apps.map(({ id }) => store().listDeliveries({ ...query, appId: id })))).flat()
  return Object.fromEntries(
    Array.from(
      Map.groupBy(rows, ({ state }) => state),
      ([state, all]) => [state, all.length],
    ),
  )
}

test('what was claimed and waited for its place goes by what is stored when it begins', async () => {
  const { sending, sent, end, waiting } = await startServers()
  await sending.sendEvents(15)
  const going = sending.sendDue()
  for (let looks = 0; looks < 500 && waiting() < IN_THE_AIR; looks += 1) await Bun.sleep(10)
  const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
  const message = await sending.store().findMessageByName(sending.app.id, 'Results ready')
  await sending.store().setMessageStatus({ ...by, id: message?.id ?? 0, status: 'paused' })
  end()
  await going
  expect(await sending.states()).toEqual({ 'skipped: message_paused': 15 })
  expect(sent).toEqual([])
})
