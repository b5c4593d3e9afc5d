import { expect, test } from 'bun:test'
import type { Sample } from '../../src/messages/mailer.ts'
import type { Outcome, Provider } from '../../src/mail/provider.ts'
import { sendSoon } from '../../src/mail/test-mail.ts'
import type { Mail } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import type { Behaviour } from './mail-server.ts'
import { headersOf, readMail } from './reading.ts'
import { CONTENT, startSending } from './sending.ts'

const keep = useClosing()

const MEMBER = { name: '', address: 'member@owner.example' }

async function start(mail: Partial<Mail> = {}, ...rest: [Behaviour?, object?]) {
  const sending = keep(await startSending({ mail: { ...CONTENT.mail, ...mail } }, ...rest))
  await sending.sendEvent('ada@example.com')
  const [delivery] = await sending.deliveries()
  const work = await sending.store().findWork(delivery?.id ?? 0)
  if (!work) throw new Error('there is no delivery')
  const { delivery: _, ...sample } = work
  return { sending, sample: sample satisfies Sample, mailer: sending.parts().mailer }
}

test('a test email goes to the member, says what it is, and has no other effect', async () => {
  const { sending, sample, mailer } = await start()
  expect(await mailer.sendTest(sample, MEMBER)).toEqual({ is: 'sent' })
  expect(sending.server.received).toMatchObject([{ to: ['member@owner.example'] }])
  const mail = readMail(sending.server.received[0]?.raw ?? '')
  expect(headersOf(mail, 'subject')).toEqual(['[Test] Your results are ready.'])
  expect(headersOf(mail, 'list-unsubscribe')).toEqual(['<http://localhost:8080/u/test>'])
  expect(await sending.states()).toEqual({ waiting: 1 })
})

test('a test email is captured without a server, and refused like the email', async () => {
  const kept = await start({}, {}, { defaults: { smtpUrl: null, from: 'hello@first.example' } })
  const result = await kept.mailer.sendTest(kept.sample, MEMBER)
  expect(result).toMatchObject({ is: 'kept', raw: expect.stringContaining('To: member@owner.example') })
  const refused = await start({}, { recipient: () => 550 })
  expect(await refused.mailer.sendTest(refused.sample, MEMBER)).toEqual({
    is: 'failed',
    reason: 'smtp_550',
    reply: '550',
  })
  const dropped = await start({}, { connect: () => 'drop' })
  expect(await dropped.mailer.sendTest(dropped.sample, MEMBER)).toEqual({ is: 'failed', reason: 'econnection' })
  const silent = await start({}, { dot: () => 'drop' })
  expect(await silent.mailer.sendTest(silent.sample, MEMBER)).toEqual({ is: 'unknown', reason: 'econnection' })
  const lacking = await start({ subject: '{{ event.nothing }}' })
  expect(await lacking.mailer.sendTest(lacking.sample, MEMBER)).toEqual({ missing: 'event.nothing' })
})

test.each([
  ['unreachable', false],
  ['unknown', true],
] as const)('a test is not waited for by a server that takes it too slowly: %s', async (is, isAsked) => {
  let isTaken = false
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const slow: Provider = {
    async send(_, handOver) {
      if (isAsked) await handOver()
      return promise
    },
    close: () => {},
  }
  const mail = { from: 'hello@first.example', to: MEMBER.address, raw: Buffer.from('') }
  const asking: Provider['send'] = async (given, handOver) => {
    const outcome = await slow.send(given, handOver)
    isTaken = !isAsked && (await handOver())
    return outcome
  }
  expect(await sendSoon({ ...slow, send: asking }, mail, 10)).toEqual({ is, reason: 'etimedout' })
  resolve({ is: 'withheld' })
  await Bun.sleep(0)
  expect(isTaken).toBe(false)
})

test('the preview equals the email that would be sent', async () => {
  const { sending, sample, mailer } = await start()
  const preview = await mailer.preview(sample)
  await sending.sendDue()
  const sent = readMail(sending.server.received[0]?.raw ?? '')
  if (!('html' in preview)) throw new Error(JSON.stringify(preview))
  expect(headersOf(sent, 'subject')).toEqual([preview.subject])
  const withoutLink = (text: string): string => text.replaceAll(/\/u\/[\w-]+/g, '/u/').trimEnd()
  expect(sent.parts.map(({ text }) => withoutLink(text))).toEqual([preview.text, preview.html].map(withoutLink))
})
