import { describe, expect, test } from 'bun:test'
import type { Outcome } from '../../src/mail/provider.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { createReplyReader, toData } from '../../src/mail/smtp-session.ts'
import { useClosing } from '../closing.ts'
import { type Script, startScriptedServer, type Step } from './scripted-server.ts'
import { countEach, live, MINUTE, useSharedSending } from './sending.ts'
import { letTurnsPass, until } from '../waiting.ts'

const keep = useClosing()
/** Some tests wait for a reply to the final dot that doesn't come. */
const QUICK = { ...SMTP_LIMITS, dotMs: 2_000 }

async function start(script: Script = {}, ehlo: string[] = []) {
  const server = await startScriptedServer(script, ehlo)
  keep({ close: server.stop })
  const provider = createSmtpProvider({ host: '127.0.0.1', port: server.port, isSecure: false, login: null }, QUICK)
  keep({ close: async () => provider.close() })
  const handed: string[] = []
  const send = (to = 'ada@example.com', turns = 7): Promise<Outcome> =>
    provider.send({ from: 'hello@example.com', to, raw: Buffer.from('Subject: One\r\n\r\nHello\r\n') }, async () => {
      // as long as a commit takes
      await letTurnsPass(turns)
      handed.push(to)
      return true
    })
  return { server, send, handed }
}

const UNKNOWN = { is: 'unknown', reason: expect.any(String) } as unknown as Outcome

describe('after the final dot', () => {
  test.each([
    ['a reply that asks for more', '354 go ahead\r\n'],
    ['a reply of an unknown class', '650 what\r\n'],
    ['a preliminary reply', '150 wait\r\n'],
    ['a code of two digits', '25 OK\r\n'],
    ['a code of four digits', '2500 OK\r\n'],
    ['a code without a following space', '250OK\r\n'],
    ['words', 'queued, thank you\r\n'],
    ['lines with different codes', '250-queued\r\n550 or not\r\n'],
    ['lines with different codes, the other way round', '450-later\r\n250 queued\r\n'],
    ['a second line without a code', '250-queued\r\nas 4711\r\n250 OK\r\n'],
    ['two replies that contradict each other', '250 queued\r\n451 later\r\n'],
    ['two replies that contradict each other, the other way round', '451 later\r\n250 queued\r\n'],
    ['a refusal that asks for more', '451 later\r\n354 go ahead\r\n'],
    ['half a reply', '25'],
    ['a reply without its end', '250-queued\r\n'],
    ['nothing', ''],
  ])('%s: the outcome is unknown, and the email is not resent automatically', async (_, reply) => {
    const { server, send, handed } = await start({ dot: ({ say }) => say(reply) })
    expect(await send()).toEqual(UNKNOWN)
    await until(() => server.connections() === 0, server.connections)
    await Bun.sleep(50)
    expect([server.emails.length, handed.length, server.connections()]).toEqual([1, 1, 0])
  })

  test('half a reply, and the connection ends', async () => {
    const { send } = await start({
      dot: ({ say, drop }) => {
        say('250 que')
        setTimeout(drop, 20)
      },
    })
    expect(await send()).toEqual({ is: 'unknown', reason: 'econnection' })
  })

  test('is not waited for when it is endless', async () => {
    let timer: ReturnType<typeof setInterval> | undefined
    const { send } = await start({
      dot: ({ say }) => void (timer = setInterval(() => say('250-still busy\r\n'), 20)),
    })
    expect(await send()).toEqual({ is: 'unknown', reason: 'etimedout' })
    clearInterval(timer)
  })

  test.each<[string, string[], Outcome]>([
    ['byte by byte', [...'250 2.0.0 queued\r\n'], { is: 'sent' }],
    ['in lines', ['250-queued\r\n', '250-as\r\n', '250 4711\r\n'], { is: 'sent' }],
    ['split between CR and LF', ['250 queued\r', '\n'], { is: 'sent' }],
    ['without words', ['250\r\n'], { is: 'sent' }],
    ['after an empty line', ['\r\n250 OK\r\n'], { is: 'sent' }],
    [
      'a refusal in lines',
      ['550-5.7.1 no\r\n', '550 5.7.1 spam\r\n'],
      { is: 'refused', code: 550, enhanced: '5.7.1', answer: '550 5.7.1 no spam', about: 'mail' },
    ],
  ])('accepts a well-formed reply, %s', async (_, pieces, outcome) => {
    const { send } = await start({
      async dot({ say }) {
        for (const piece of pieces) {
          say(piece)
          await Bun.sleep(3)
        }
      },
    })
    expect(await send()).toEqual(outcome)
  })

  test('a goodbye with the reply changes nothing', async () => {
    const { send } = await start({ dot: ({ say }) => say('250 queued\r\n421 closing\r\n') })
    expect([await send(), await send()]).toEqual([{ is: 'sent' }, { is: 'sent' }])
  })
})

describe('nothing is handed over before the final dot', () => {
  test.each<[string, Script]>([
    ['a reply with the go-ahead', { DATA: ({ say }) => say('354 go ahead\r\n250 queued\r\n') }],
    ['a reply to the body', { body: ({ say }) => say('250 queued\r\n') }],
    ['a refusal of the body', { body: ({ say }) => say('552 too large\r\n') }],
    ['words in between', { body: ({ say }) => say('hold the line\r\n') }],
    ['a wrong go-ahead', { DATA: ({ say }) => say('250 OK\r\n') }],
    ['lines with different codes', { RCPT: ({ say }) => say('250-OK\r\n550 no\r\n') }],
    ['a sender that is asked for more', { MAIL: ({ say }) => say('354 go ahead\r\n') }],
    ['two greetings', { greeting: ({ say }) => say('220 one\r\n220 two\r\n') }],
    ['a wrong greeting', { greeting: ({ say }) => say('250 hello\r\n') }],
  ])('%s', async (_, script) => {
    const { server, send, handed } = await start(script)
    // the reply comes during or before the hand-over's commit
    expect(await send('ada@example.com', 20)).toEqual({ is: 'unreachable', reason: 'eprotocol' })
    expect(server.emails).toEqual([])
    expect(handed.length).toBeLessThanOrEqual(1)
  })
})

describe('a server with one reply too many', () => {
  const STEPS: Step[] = ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'dot']
  const extraAt = (step: Step, delayMs: number, words: string): Script => ({
    async [step]({ say }: { say: (text: string) => void }) {
      say(
        { greeting: '220 hi\r\n', EHLO: '250-hi\r\n250 8BITMIME\r\n', DATA: '354 go\r\n' }[step as string] ??
          '250 OK\r\n',
      )
      if (delayMs > 0) setTimeout(() => say(words), delayMs)
      else say(words)
    },
  })
  const cases = STEPS.flatMap((step) =>
    [0, 3, 40].flatMap((delayMs) => ['250 extra\r\n', '451 extra\r\n'].map((words) => [step, delayMs, words] as const)),
  )

  test.each(cases)(
    'after %s, %d ms later, %j: no email comes twice that was not unknown',
    async (step, delayMs, words) => {
      const { server, send } = await start(extraAt(step, delayMs, words))
      const outcomes: [string, Outcome][] = []
      for (let number = 0; number < 6; number += 1) {
        const to = `p${number}@example.com`
        outcomes.push([to, await send(to)])
      }
      await Bun.sleep(50)
      const came = server.counts()
      for (const [to, outcome] of outcomes) {
        const times = came.get(to)?.length ?? 0
        expect(times).toBeLessThanOrEqual(1)
        // the reported outcome is the real one
        if (outcome.is === 'unreachable' || outcome.is === 'withheld') expect([to, times]).toEqual([to, 0])
        if (outcome.is === 'sent') expect([to, times]).toEqual([to, 1])
        if (outcome.is === 'refused') expect(outcome.code).toBeWithin(400, 600)
      }
    },
  )

  test('after the final dot: each email is sent once, on its own connection', async () => {
    const { server, send } = await start(extraAt('dot', 0, '250 extra\r\n'))
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, number) => send(`p${number}@example.com`)))
    expect(outcomes).toEqual(outcomes.map(() => ({ is: 'sent' })))
    expect(Array.from(server.counts().values(), (all) => all.length)).toEqual(Array(20).fill(1))
  })
})

describe('a server with pipelining', () => {
  const PIPELINING = ['250-PIPELINING', '250 8BITMIME']

  test('gets commands at once, and every email once', async () => {
    const { server, send } = await start({}, PIPELINING)
    expect([await send('a@example.com'), await send('b@example.com')]).toEqual([{ is: 'sent' }, { is: 'sent' }])
    expect(server.emails.map(({ to }) => to)).toEqual(['a@example.com', 'b@example.com'])
  })

  test('reports a refused recipient, also if it waits for an email without recipients', async () => {
    const refuse = ({ say, to }: { say: (text: string) => void; to: string }) =>
      say(to.startsWith('no') ? '550 5.1.1 no such user\r\n' : '250 OK\r\n')
    const { server, send } = await start({ RCPT: refuse }, PIPELINING)
    const outcomes = [await send('no@example.com'), await send('yes@example.com')]
    expect(outcomes).toMatchObject([{ is: 'refused', code: 550, about: 'recipient' }, { is: 'sent' }])
    expect(server.emails.map(({ to }) => to)).toEqual(['yes@example.com'])
  })

  test('with one reply too many: nothing is handed over', async () => {
    const { server, send, handed } = await start({ RCPT: ({ say }) => say('250 OK\r\n250 extra\r\n') }, PIPELINING)
    expect(await send()).toEqual({ is: 'unreachable', reason: 'eprotocol' })
    expect([server.emails.length, handed.length]).toEqual([0, 0])
  })
})

test('an email is handed over only after all of it is sent', async () => {
  const server = await startScriptedServer({ DATA: ({ say, stopReading }) => (stopReading(), say('354 go ahead\r\n')) })
  keep({ close: server.stop })
  const limits = { ...QUICK, mailMs: 2_000 }
  const provider = createSmtpProvider({ host: '127.0.0.1', port: server.port, isSecure: false, login: null }, limits)
  keep({ close: async () => provider.close() })
  const raw = Buffer.from('A line of text.\r\n'.repeat(1_000_000))
  let isAsked = false
  const outcome = await provider.send({ from: 'a@example.com', to: 'b@example.com', raw }, async () => (isAsked = true))
  expect([outcome, isAsked]).toEqual([{ is: 'unreachable', reason: 'eabort' }, false])
})

test('a connection that refused an email is reused', async () => {
  const { server, send } = await start({
    RCPT: ({ say, to }) => say(to.startsWith('no') ? '550 no\r\n' : '250 OK\r\n'),
  })
  expect(await send('no@example.com')).toMatchObject({ is: 'refused', code: 550 })
  expect(await send('yes@example.com')).toEqual({ is: 'sent' })
  expect([server.most(), server.commands.filter((line) => line === 'RSET').length]).toEqual([1, 1])
})

test('an email starts over if the server ended the connection', async () => {
  const { server, send } = await start({ MAIL: ({ say, drop, emails }) => (emails > 0 ? drop() : say('250 OK\r\n')) })
  for (let number = 0; number < 5; number += 1) expect(await send(`p${number}@example.com`)).toEqual({ is: 'sent' })
  expect(server.emails.map(({ to }) => to)).toEqual([0, 1, 2, 3, 4].map((number) => `p${number}@example.com`))
})

const startService = useSharedSending()

/** Each reply answers the command before. */
function oneAhead(): Script {
  return { MAIL: ({ say }) => say('250 OK\r\n250 extra\r\n') }
}

test('a server one reply ahead gets no email twice within an hour', async () => {
  const server = await startScriptedServer(oneAhead())
  keep({ close: server.stop })
  const sending = await startService()
  await sending.setSettings({ smtpUrl: server.url })
  await sending.sendEvents(3)
  await live(sending, 60 * MINUTE)
  expect(server.emails).toEqual([])
  expect(countEach(sending)).toEqual([])
  expect(Object.keys(await sending.states()).join()).toMatch(/deferred: (eprotocol|server_paused)/)
})

test.each(['resend', 'leave'] as const)(
  'a server that answers the final dot with a go-ahead: %s',
  async (ifUnconfirmed) => {
    const server = await startScriptedServer({ dot: ({ say }) => say('354 go ahead\r\n') })
    keep({ close: server.stop })
    const sending = await startService({ ifUnconfirmed })
    await sending.setSettings({ smtpUrl: server.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, 60 * MINUTE)
    expect(await sending.states()).toEqual({ 'unknown: eprotocol': 1 })
    expect(server.emails).toHaveLength(ifUnconfirmed === 'resend' ? 2 : 1)
  },
)

describe('what goes over the wire', () => {
  test.each([
    ['.\r\n', '..\r\n'],
    ['a\r\n.\r\nb', 'a\r\n..\r\nb\r\n'],
    ['a\n.b\n', 'a\r\n..b\r\n'],
    ['a\r.\rb', 'a\r\n..\r\nb\r\n'],
    ['a\r\n\r\n', 'a\r\n\r\n'],
    ['', '\r\n'],
  ])('%j is %j', (raw, sent) => {
    expect(toData(Buffer.from(raw)).toString()).toBe(sent)
  })

  test('a reply of many megabytes is rejected', () => {
    let malformed = 0
    const reader = createReplyReader({ onReply: () => {}, onMalformed: () => (malformed += 1) })
    for (let piece = 0; piece < 20; piece += 1) reader.read(Buffer.from('250-a\r\n'.repeat(1_000)))
    expect(malformed).toBeGreaterThan(0)
    const endless = createReplyReader({ onReply: () => {}, onMalformed: () => (malformed = -1) })
    for (let piece = 0; piece < 20; piece += 1) endless.read(Buffer.from('2'.repeat(10_000)))
    expect(malformed).toBe(-1)
  })
})
