import { afterEach, describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import type { About, Outcome, Provider } from '../../src/mail/provider.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { type Behaviour, type Doing, type MailServer, startMailServer } from './mail-server.ts'
import { OWN } from './certificates.ts'
import { letTurnsPass, until } from '../waiting.ts'

/** Gives up soon on a server that doesn't answer. */
const QUICK = { ...SMTP_LIMITS, greetingMs: 2_000, answerMs: 2_000, dotMs: 2_000 }
const RAW = 'From: hello@example.com\r\nTo: ada@example.com\r\nSubject: One\r\n\r\n.\r\nFirst line is a dot.\r\n'

const open: { server?: MailServer; provider?: Provider } = {}
afterEach(async () => {
  open.provider?.close()
  await open.server?.stop()
})

async function start(behaviour: Behaviour = {}, options: SMTPServerOptions = {}, limits = SMTP_LIMITS) {
  const server = await startMailServer(behaviour, options)
  const login = options.onAuth ? { user: 'ada', password: 'secret' } : null
  const provider = createSmtpProvider({ host: '127.0.0.1', port: server.port, isSecure: false, login }, limits)
  Object.assign(open, { server, provider })
  const asked: number[] = []
  const send = (to = 'ada@example.com', isHanded: boolean | (() => Promise<boolean>) = true): Promise<Outcome> =>
    provider.send({ from: 'hello@example.com', to, raw: Buffer.from(RAW) }, async () => {
      asked.push(server.received.length)
      return typeof isHanded === 'boolean' ? isHanded : isHanded()
    })
  return { server, provider, send, asked }
}

describe('an accepted email', () => {
  test('arrives unchanged with its envelope, after the hand-over', async () => {
    const { server, send, asked } = await start()
    expect(await send()).toEqual({ is: 'sent' })
    expect(server.received).toMatchObject([{ from: 'hello@example.com', to: ['ada@example.com'], raw: RAW }])
    expect(asked).toEqual([0])
  })

  test('shares connections with others', async () => {
    const { server, send } = await start()
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => send(`p${n}@example.com`)))
    expect(outcomes).toEqual(outcomes.map(() => ({ is: 'sent' })))
    expect(server.counts().size).toBe(100)
    expect(server.connections()).toBeLessThanOrEqual(SMTP_LIMITS.connections)
  })

  test('uses TLS if the server offers it', async () => {
    const secured: boolean[] = []
    const onData: SMTPServerOptions['onData'] = (stream, session, done) => {
      secured.push(session.secure)
      stream.resume().on('end', () => done())
    }
    const { send } = await start({}, { disabledCommands: [], onData })
    expect(await send()).toEqual({ is: 'sent' })
    expect(secured).toEqual([true])
  })

  test.each([true, false])('uses one connection with a login, TLS from the first byte: %p', async (isSecure) => {
    const logins: string[] = []
    const onAuth: SMTPServerOptions['onAuth'] = ({ username }, { secure }, done) => {
      logins.push(`${username}, secure: ${secure}`)
      done(null, { user: 'ada' })
    }
    const server = await startMailServer({}, { secure: isSecure, disabledCommands: [], authOptional: false, onAuth })
    const login = { user: 'ada', password: 'secret' }
    const provider = createSmtpProvider({ host: '127.0.0.1', port: server.port, isSecure, login }, SMTP_LIMITS)
    Object.assign(open, { server, provider })
    const raw = Buffer.from(`Subject: Long\r\n\r\n${'A line of text.\r\n'.repeat(20_000)}`)
    for (const to of ['a@example.com', 'b@example.com', 'c@example.com']) {
      expect(await provider.send({ from: 'hello@example.com', to, raw }, async () => true)).toEqual({ is: 'sent' })
    }
    expect(server.received.map((mail) => mail.raw)).toEqual(Array(3).fill(raw.toString()))
    expect([logins, server.connections()]).toEqual([['ada, secure: true'], 1])
  })

  test('waits for the hand-over before the final dot', async () => {
    const { server, send } = await start()
    const gate = Promise.withResolvers<boolean>()
    const sending = send('ada@example.com', () => gate.promise)
    await Bun.sleep(100)
    expect(server.received).toEqual([])
    gate.resolve(true)
    expect(await sending).toEqual({ is: 'sent' })
    expect(server.received).toHaveLength(1)
  })
})

describe('a withheld email', () => {
  test('never arrives, and others do', async () => {
    const { server, send } = await start()
    const [withheld, other] = await Promise.all([send('no@example.com', false), send('yes@example.com')])
    expect([withheld, other]).toEqual([{ is: 'withheld' }, { is: 'sent' }])
    expect(await send('yes2@example.com')).toEqual({ is: 'sent' })
    expect(Array.from(server.counts().keys())).toEqual(['yes@example.com', 'yes2@example.com'])
  })

  test('also if the hand-over breaks', async () => {
    const { server, send } = await start()
    expect(await send('no@example.com', () => Promise.reject(new Error('disk')))).toEqual({ is: 'withheld' })
    expect(server.received).toEqual([])
  })
})

const refused = (code: number, about: About = 'session', words = 'as the test says') =>
  ({ is: 'refused', code, enhanced: null, about, answer: `${code} ${words}` }) as const

type Login = { username?: string; password?: string | null }

describe('a refused email', () => {
  test.each<[string, Behaviour, Outcome]>([
    ['at the greeting', { connect: () => 421 }, refused(421)],
    ['permanently at the greeting', { connect: () => 554 }, refused(554)],
    ['its sender', { sender: () => 553 }, refused(553, 'sender')],
    ['its recipient', { recipient: () => 550 }, refused(550, 'recipient')],
    ['its recipient for now', { recipient: () => 450 }, refused(450, 'recipient')],
    ['because TLS is required', { sender: () => 454 }, refused(454, 'sender')],
    ['at the final dot', { dot: () => 552 }, refused(552, 'mail')],
    ['at the final dot for now', { dot: () => 451 }, refused(451, 'mail')],
    ['with a goodbye at the final dot', { dot: () => 421 }, refused(421, 'mail')],
  ])('%s', async (_, behaviour, outcome) => {
    const { server, send } = await start(behaviour)
    expect(await send()).toEqual(outcome)
    expect(server.received).toEqual([])
  })

  test('with the code about the mailbox', async () => {
    const onRcptTo: SMTPServerOptions['onRcptTo'] = (_, __, done) =>
      done(Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 }))
    const { send } = await start({}, { onRcptTo })
    expect(await send()).toEqual({ ...refused(550, 'recipient', '5.1.1 no such user'), enhanced: '5.1.1' })
  })

  test('after a long wait, on a used connection', async () => {
    let isSlow = false
    const slow = async (error: Error | null, done: (error?: Error | null) => void): Promise<void> => {
      if (isSlow) await Bun.sleep(200)
      done(isSlow ? error : null)
    }
    const onMailFrom: SMTPServerOptions['onMailFrom'] = (_, __, done) => void slow(null, done)
    const onRcptTo: SMTPServerOptions['onRcptTo'] = (_, __, done) =>
      void slow(Object.assign(new Error('no'), { responseCode: 550 }), done)
    const { send } = await start({}, { onMailFrom, onRcptTo })
    expect(await send()).toEqual({ is: 'sent' })
    isSlow = true
    expect(await send()).toEqual(refused(550, 'recipient', 'no'))
  })

  test('is one of a hundred', async () => {
    const { server, send } = await start({ recipient: (to) => (to === 'p50@example.com' ? 550 : 'accept') })
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => send(`p${n}@example.com`)))
    expect(outcomes.filter(({ is }) => is === 'sent')).toHaveLength(99)
    expect(outcomes[50]).toEqual(refused(550, 'recipient'))
    expect(Array.from(server.counts().values(), (all) => all.length)).toEqual(Array(99).fill(1))
  })

  test('for a wrong password', async () => {
    const onAuth: SMTPServerOptions['onAuth'] = (_, __, done) =>
      done(Object.assign(new Error('no'), { responseCode: 535 }))
    const { send } = await start({}, { onAuth, disabledCommands: [] })
    expect(await send()).toEqual(refused(535, 'session', 'no'))
  })

  test.each([
    ['the password', ({ password }: Login) => `${password} is wrong`],
    ['the encoded password', (login: Login) => `cannot read ${btoa(`\0${login.username}\0${login.password}`)}`],
    [
      'a part of that',
      (login: Login) => `cannot read ${btoa(`\0${login.username}\0${login.password}`).slice(2, 11)}...`,
    ],
  ])('for a wrong password, with %s in its answer, which is dropped', async (_, say) => {
    const onAuth: SMTPServerOptions['onAuth'] = (login, __, done) =>
      done(Object.assign(new Error(say(login)), { responseCode: 535 }))
    const { send } = await start({}, { onAuth, disabledCommands: [] })
    expect(await send()).toEqual({ ...refused(535), answer: undefined })
  })
})

describe('an email that was certainly not sent', () => {
  test.each<[string, Behaviour]>([
    ['the connection drops at once', { connect: () => 'drop' }],
    ['there is no greeting', { connect: () => 'hang' }],
    ['no reply to the sender', { sender: () => 'hang' }],
    ['no reply to the recipient', { recipient: () => 'drop' }],
  ])('%s', async (_, behaviour) => {
    const { server, send, asked } = await start(behaviour, {}, QUICK)
    expect(await send()).toEqual({ is: 'unreachable', reason: expect.any(String) })
    expect(server.received).toEqual([])
    expect(asked).toEqual([])
  })

  test.each<[string, SMTPServerOptions, boolean]>([
    ['eplain', {}, true],
    ['euntrusted', { disabledCommands: [], ...OWN }, false],
    ['etls', {}, false],
  ])('the connection cannot be made secure: %s', async (reason, options, isSecure) => {
    const server = await startMailServer({}, options)
    const login = { user: 'ada', password: 'secret' }
    // this machine, by a remote-looking address
    const provider = createSmtpProvider({ host: '0.0.0.0', port: server.port, isSecure, login }, SMTP_LIMITS)
    Object.assign(open, { server, provider })
    const mail = { from: 'hello@example.com', to: 'ada@example.com', raw: Buffer.from(RAW) }
    expect(await provider.send(mail, async () => true)).toEqual({ is: 'unreachable', reason })
    expect(server.received).toEqual([])
  })

  test('the connection drops before the final dot, during the hand-over', async () => {
    const { server, send } = await start({ data: () => 'drop' })
    const slow = async (): Promise<boolean> => {
      await until(() => server.connections() === 0)
      await letTurnsPass()
      return true
    }
    expect(await send('ada@example.com', slow)).toEqual({ is: 'unreachable', reason: expect.any(String) })
    expect(server.received).toEqual([])
  })

  test('no answer to the recipient on a used connection: waits only once', async () => {
    const asked: string[] = []
    const { send } = await start({ recipient: (to) => (asked.push(to) > 1 ? 'hang' : 'accept') }, {}, QUICK)
    expect(await send('first@example.com')).toEqual({ is: 'sent' })
    expect(await send()).toEqual({ is: 'unreachable', reason: 'etimedout' })
    expect(asked).toEqual(['first@example.com', 'ada@example.com'])
  })

  test('no one listens', async () => {
    const { server, send } = await start()
    await server.stop()
    expect(await send()).toEqual({ is: 'unreachable', reason: 'erefused' })
  })

  test.each(['127.0.0.1', '::ffff:127.0.0.1'])('a password is never sent without TLS, to %s', async (host) => {
    const given = { host, isSecure: false, login: { user: 'ada', password: 'secret' } }
    const said: string[] = []
    const onAuth: SMTPServerOptions['onAuth'] = ({ password }, _, done) => {
      said.push(password ?? '')
      done(null, { user: 'ada' })
    }
    const { server } = await start({}, { onAuth, allowInsecureAuth: true })
    const provider = createSmtpProvider({ ...given, port: server.port }, SMTP_LIMITS)
    const mail = { from: 'hello@example.com', to: 'ada@example.com', raw: Buffer.from(RAW) }
    expect(await provider.send(mail, async () => true)).toEqual({ is: 'unreachable', reason: 'etls' })
    expect(said).toEqual([])
    provider.close()
  })
})

describe('an email with an unknown outcome', () => {
  test.each<[string, Behaviour]>([
    ['the connection drops after the final dot', { dot: () => 'drop' }],
    ['no reply to the final dot', { dot: () => 'hang' }],
    ['it was accepted and the reply was lost', { dot: () => 'drop', keepsDropped: true }],
  ])('%s', async (_, behaviour) => {
    const { server, send, asked } = await start(behaviour, {}, QUICK)
    expect(await send()).toEqual({ is: 'unknown', reason: expect.any(String) })
    expect(asked).toHaveLength(1)
    // no automatic retry
    await Bun.sleep(300)
    expect(server.received).toHaveLength(behaviour.keepsDropped ? 1 : 0)
  })
})

describe('reports that a server was reached and accepted the login', () => {
  test.each<[string, Behaviour, number]>([
    ['not if it refuses the connection', { connect: () => 421 }, 0],
    ['not if it drops the connection', { connect: () => 'drop' }, 0],
    ['if it refuses the sender', { sender: () => 421 }, 1],
    ['if it drops the connection after the sender', { sender: () => 'drop' }, 1],
  ])('%s', async (_, behaviour, least) => {
    const { provider } = await start(behaviour)
    let logins = 0
    const mail = { from: 'hello@example.com', to: 'ada@example.com', raw: Buffer.from(RAW) }
    await provider.send(mail, async () => true, { onLogin: () => void (logins += 1) })
    expect(Math.min(logins, 1)).toBe(least)
  })

  test('not by an old connection if it accepts no new one', async () => {
    let isDown = false
    const doing = () => (isDown ? ('drop' as const) : ('accept' as const))
    const { provider, send } = await start({ connect: doing, sender: doing })
    expect(await send()).toEqual({ is: 'sent' })
    isDown = true
    let logins = 0
    const mail = { from: 'hello@example.com', to: 'ada@example.com', raw: Buffer.from(RAW) }
    const outcome = await provider.send(mail, async () => true, { onLogin: () => void (logins += 1) })
    expect([outcome.is, logins]).toEqual(['unreachable', 0])
  })
})

test('a server that is slow at every step does not hold an email forever', async () => {
  const { send } = await start({ recipient: () => 'hang' }, {}, { ...SMTP_LIMITS, mailMs: 300 })
  const startedAt = performance.now()
  expect(await send()).toEqual({ is: 'unreachable', reason: 'eabort' })
  expect(performance.now() - startedAt).toBeLessThan(SMTP_LIMITS.answerMs / 2)
})

test('an aborted email was not handed over', async () => {
  const reached = Promise.withResolvers<void>()
  const recipient = (): Doing => (reached.resolve(), 'hang')
  const { server, provider } = await start({ recipient })
  const stop = new AbortController()
  const mail = { from: 'hello@example.com', to: 'ada@example.com', raw: Buffer.from(RAW) }
  const sent = provider.send(mail, async () => true, { signal: stop.signal })
  await reached.promise
  stop.abort()
  expect(await sent).toEqual({ is: 'unreachable', reason: 'stopped' })
  expect(server.received).toEqual([])
})

describe('a slow reply to the final dot', () => {
  const SLOW = { ...SMTP_LIMITS, connections: 2, slowConnections: 3, slowDotMs: 50 }

  test('is waited for and delays no one', async () => {
    const answers: (() => void)[] = []
    const dot = (to: string) =>
      to.startsWith('slow') ? new Promise<'accept'>((done) => answers.push(() => done('accept'))) : 'accept'
    const { server, send } = await start({ dot }, {}, SLOW)
    const slow = [send('slow1@example.com'), send('slow2@example.com'), send('slow3@example.com')]
    expect(await send('quick@example.com')).toEqual({ is: 'sent' })
    expect(server.received.map(({ to }) => to[0])).toEqual(['quick@example.com'])
    for (const answer of answers) answer()
    expect(await Promise.all(slow)).toEqual(slow.map(() => ({ is: 'sent' })))
    expect(Array.from(server.counts().values(), (all) => all.length)).toEqual([1, 1, 1, 1])
  })

  test('limits open connections', async () => {
    const answers: (() => void)[] = []
    const dot = () => new Promise<'accept'>((done) => answers.push(() => done('accept')))
    const { server, send } = await start({ dot }, {}, SLOW)
    const sent = Array.from({ length: 12 }, (_, number) => send(`p${number}@example.com`))
    while (answers.length < 5) await Bun.sleep(10)
    await Bun.sleep(200)
    expect([answers.length, server.connections()]).toEqual([5, 5])
    // each answered one lets the next one through
    while (server.received.length < 12) {
      for (const answer of answers.splice(0)) answer()
      await Bun.sleep(20)
      expect(server.connections()).toBeLessThanOrEqual(5)
    }
    expect(await Promise.all(sent)).toEqual(sent.map(() => ({ is: 'sent' })))
  })
})

describe('a server that accepts few connections', () => {
  const SOME = { ...SMTP_LIMITS, connections: 10 }
  const sendMany = (send: (to: string) => Promise<Outcome>, count: number) =>
    Promise.all(Array.from({ length: count }, (_, number) => send(`p${number}@example.com`)))

  test.each([
    ['at a time, and refuses one more at the greeting', { connect: 421 }],
    ['with many words', { connect: 450, words: '4.3.2 Concurrent connections limit exceeded' }],
    ['and refuses the sender of one more', { sender: 421, words: '4.7.0 Too many connections' }],
  ] as const)('%s', async (_, given) => {
    const refuse = (code: number | undefined): Doing =>
      code !== undefined && open.server && open.server.connections() > 3 ? code : 'accept'
    let most = 0
    const { server, provider, send } = await start(
      {
        connect: () => refuse('connect' in given ? given.connect : undefined),
        sender: () => refuse('sender' in given ? given.sender : undefined),
        words: () => ('words' in given ? given.words : 'as the test says'),
        dot: async () => {
          most = Math.max(most, open.server?.connections() ?? 0)
          await Bun.sleep(2)
          return 'accept' as const
        },
      },
      {},
      SOME,
    )
    const outcomes = await sendMany(send, 120)
    expect(outcomes).toEqual(outcomes.map(() => ({ is: 'sent' })))
    expect(server.counts().size).toBe(120)
    expect(most).toBeGreaterThanOrEqual(3)
    expect(provider.connections?.findLearned()?.most).toBe(3)
  })

  test('none: every email is refused, and soon', async () => {
    let asked = 0
    const { provider, send } = await start({ connect: () => (asked++, 421) }, {}, SOME)
    expect(await sendMany(send, 10)).toEqual(Array(10).fill(refused(421)))
    expect(asked).toBe(10)
    expect(provider.connections?.findLearned()).toBe(null)
  })

  test('always one: an email that never had its turn says so', async () => {
    const dot = () => 'hang' as const
    const connect = (): Doing => ((open.server?.connections() ?? 0) > 1 ? 421 : 'accept')
    const { send } = await start({ connect, dot }, {}, { ...SOME, mailMs: 2_000, dotMs: 3_000 })
    const [first, second] = await sendMany(send, 2)
    const all = [first, second].toSorted((a, b) => String(a?.is).localeCompare(String(b?.is)))
    expect(all).toEqual([
      { ...refused(421), isCrowded: true },
      { is: 'unknown', reason: 'etimedout' },
    ])
  })

  test('for so many emails each', async () => {
    const counts = new Map<string, number>()
    const onMailFrom: SMTPServerOptions['onMailFrom'] = (_, { id }, done) => {
      const count = (counts.get(id) ?? 0) + 1
      counts.set(id, count)
      done(count <= 5 ? null : Object.assign(new Error('4.7.0 too many messages'), { responseCode: 421 }))
    }
    const { server, send } = await start({}, { onMailFrom }, { ...SOME, connections: 2 })
    for (let number = 0; number < 23; number += 1) expect(await send(`p${number}@example.com`)).toEqual({ is: 'sent' })
    expect(server.counts().size).toBe(23)
  })
})

describe('a greeting that takes long', () => {
  test('is waited for', async () => {
    const onConnect: SMTPServerOptions['onConnect'] = (_, done) => void setTimeout(done, 1_300)
    const { send } = await start({}, { onConnect }, { ...SMTP_LIMITS, connectMs: 1_000 })
    expect(await send()).toEqual({ is: 'sent' })
  })

  test('over a minute by default, within the time of an email', () =>
    expect(SMTP_LIMITS.greetingMs).toBeWithin(61_000, SMTP_LIMITS.mailMs))

  test('delays no other email', async () => {
    const [first, greeted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let connections = 0
    const onConnect: SMTPServerOptions['onConnect'] = (_, done) => {
      connections += 1
      first.resolve()
      void (connections === 1 ? greeted.promise : Promise.resolve()).then(() => done())
    }
    const { server, send } = await start({}, { onConnect }, { ...SMTP_LIMITS, connections: 1, slowGreetingMs: 50 })
    const slow = send('slow@example.com')
    await first.promise
    expect(await send('quick@example.com')).toEqual({ is: 'sent' })
    expect(Array.from(server.counts().keys())).toEqual(['quick@example.com'])
    greeted.resolve()
    expect(await slow).toEqual({ is: 'sent' })
  })
})
