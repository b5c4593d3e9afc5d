import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { setMessageStatus } from '../../src/messages/messages.ts'
import { publicId } from '../../src/core/ids.ts'
import { addSuppressions } from '../../src/people/suppressions.ts'
import { unsubscribeUrl } from '../../src/people/unsubscribe.ts'
import type { SenderDependencies } from '../../src/mail/sender.ts'
import { CONTACTS } from '../helper.ts'
import { callTool } from '../mcp/client.ts'
import { type Sending, useSending } from './sending.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const start = useSending()
const ADA = 'ada@example.com'
const SECRET = 'a-secret-for-reports'
const ONE = 'One email was already with the mail server and may still arrive.'
/** People are told in words that their app can translate. */
const PAGE = 'An email that is already on its way may still arrive.'

/** The answers as text. */
type Act = (sending: Sending) => Promise<string>

const contactOf = async ({ store, app }: Sending) => (await store().findContact(app.id, ADA))?.id ?? 0
const messageOf = ({ store, app }: Sending) => store().findMessageByName(app.id, 'Results ready')

async function stop(sending: Sending, status: 'paused' | 'draft'): Promise<string> {
  const message = await messageOf(sending)
  if (!message) throw new Error('the message is gone')
  const { app, clock } = sending
  const { store, mailer, templates } = sending.parts()
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  const outcome = await setMessageStatus({ store, mailer, templates, app, senders: mailer.senders }, by, {
    message,
    status,
  })
  return JSON.stringify(outcome)
}

function reportBounce(sending: Sending, report: object): Promise<string> {
  const body = JSON.stringify(report)
  const seconds = Math.floor(sending.clock.now() / 1000)
  const proof = createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex')
  const headers = { 'Eventpost-Signature': `t=${seconds},v1=${proof}` }
  return sending
    .call('POST', `/hooks/bounces/${sending.app.publicId}`, { body, key: null, headers })
    .then(({ text }) => text)
}

const ACTS: [string, Act][] = [
  [
    'unsubscribing',
    async (sending) => {
      const { baseUrl, unsubscribeKey } = sending.parts()
      const url = unsubscribeUrl(baseUrl, unsubscribeKey, { contactId: await contactOf(sending), topicId: null })
      return (await sending.send(new Request(url, { method: 'POST' }))).text()
    },
  ],
  [
    'a member suppressing the address',
    async (sending) => {
      const input = {
        rows: [{ email: ADA, reason: 'unsubscribed' as const, isUnsubscribed: true }],
        wrongLines: [],
        why: 'asked',
      }
      return JSON.stringify(await addSuppressions(sending.parts(), sending.app, { input, actor: 'test' }))
    },
  ],
  ['a report of a complaint, by the address', (sending) => reportBounce(sending, { kind: 'complained', email: ADA })],
  [
    'a report of a bounce, by the delivery',
    async (sending) => {
      const [delivery] = await sending.deliveries()
      return reportBounce(sending, { kind: 'bounced', delivery: publicId('dlv', delivery?.id ?? 0) })
    },
  ],
  [
    'erasing the person',
    async (sending) => {
      const body = { newsletter: sending.app.publicId, email: ADA }
      return (await sending.call('DELETE', CONTACTS, { body })).text
    },
  ],
  ['pausing the message', (sending) => stop(sending, 'paused')],
  ['making it a draft', (sending) => stop(sending, 'draft')],
  [
    'pausing the message over MCP',
    async (sending) => {
      const { apiKey: key } = await sending.makeKey('manage')
      const messageId = publicId('msg', (await messageOf(sending))?.id ?? 0)
      const args = { app: sending.app.publicId, messageId, status: 'paused' }
      return (await callTool(sending as never, 'set_message_status', args, { key })).text
    },
  ],
]

/** One email waits for its reply until `answer` is called; others are queued. */
async function startHolding(mail: Partial<SenderDependencies> = {}) {
  const [handed, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<'accept'>()]
  const dot = () => {
    handed.resolve()
    return answered.promise
  }
  const sending = await start({ again: { everyHours: 1 } }, { dot }, mail)
  await sending.setSettings({ bounceSecret: SECRET })
  await sending.sendEvent(ADA)
  const running = sending.sendDue()
  await handed.promise
  return { sending, running, answer: () => answered.resolve('accept') }
}

describe('an email that is being handed over is finished before the answer', () => {
  test.each(ACTS)('%s', async (_, act) => {
    const { sending, running, answer } = await startHolding()
    let answeredAt = 0
    const acting = act(sending).then((text) => {
      answeredAt = performance.now()
      return text
    })
    await Bun.sleep(150)
    expect([answeredAt, sending.server.received.length]).toEqual([0, 0])
    answer()
    expect(await acting).not.toContain('may still arrive')
    expect(sending.server.received.map(({ at }) => at < answeredAt)).toEqual([true])
    await running
    expect(sending.server.received).toHaveLength(1)
  })
})

describe('waits only briefly for a silent mail server, and the answer says so', () => {
  test.each(ACTS)(
    '%s',
    async (name, act) => {
      const { sending, running, answer } = await startHolding({ settleMs: 200 })
      const startedAt = performance.now()
      const text = await act(sending)
      expect(performance.now() - startedAt).toBeWithin(190, 3_000)
      const said = name === 'unsubscribing' ? [PAGE] : [ONE, '"stillSending":1']
      expect(said.some((words) => text.includes(words))).toBe(true)
      answer()
      await running
    },
    BEST_OF_FIVE,
  )
})

test('an email without a final dot is not waited for and not handed over', async () => {
  const [offered, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const sending = await start()
  const store = sending.store()
  const { markHanded } = store
  store.markHanded = async (input) => {
    offered.resolve()
    await taken.promise
    return markHanded(input)
  }
  await sending.sendEvents(12)
  const running = sending.sendDue()
  await offered.promise
  const stopping = stop(sending, 'paused')
  taken.resolve()
  expect(JSON.parse(await stopping)).toEqual({ stillSending: 0 })
  const came = sending.server.received.length
  await running
  expect([sending.server.received.length, came]).toEqual([came, came])
})
