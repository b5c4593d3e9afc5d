import { describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import type { SmtpServer } from '../../src/core/mail-addresses.ts'
import type { Outcome } from '../../src/mail/provider.ts'
import { type PrivateHosts, readPrivateHosts } from '../../src/core/public-addresses.ts'
import { createGuardedDial } from '../../src/mail/dial.ts'
import { CHECK_LIMITS, checkServer } from '../../src/mail/server-check.ts'
import { useClosing } from '../closing.ts'
import { OWN } from './certificates.ts'
import { type Behaviour, startMailServer } from './mail-server.ts'

const keep = useClosing()

/** This machine, as a local and a remote-looking address. */
const [NEAR, FAR] = ['127.0.0.1', '0.0.0.0']
const LOGIN = { user: 'ada', password: 'secret' }
const ASKS: SMTPServerOptions = {
  disabledCommands: [],
  onAuth: ({ username, password }, _, done) =>
    username === LOGIN.user && password === LOGIN.password
      ? done(null, { user: username })
      : done(Object.assign(new Error('no'), { responseCode: 535 })),
}

/** Only the total limit ends a wait. */
const PATIENT = { ...CHECK_LIMITS, connectMs: 60_000, greetingMs: 60_000, answerMs: 60_000 }

/** Before anything else ends a forgotten connection. */
const LEAVE_MS = 10_000

type Given = Partial<SmtpServer> & { behaviour?: Behaviour; options?: SMTPServerOptions; mailMs?: number }

async function check({ behaviour, options, mailMs = CHECK_LIMITS.mailMs, ...given }: Given = {}) {
  const server = await startMailServer(behaviour, options)
  keep({ close: server.stop })
  const asked = { host: NEAR, port: server.port, isSecure: false, login: null, ...given }
  const failures: Outcome[] = []
  const onFailure = (outcome: Outcome) => void failures.push(outcome)
  const found = await checkServer(asked, { limits: { ...PATIENT, mailMs }, onFailure })
  expect(server.received).toEqual([])
  return { found, server, failures }
}

test('refuses a server of an app that offers no login although one is set', async () => {
  const server = await startMailServer(undefined, { disabledCommands: ['AUTH'] })
  keep({ close: server.stop })
  const dial = createGuardedDial({
    allowed: readPrivateHosts(['127.0.0.1/32']) as PrivateHosts,
    findShared: async () => null,
  })
  const own = { host: NEAR, port: server.port, isSecure: false, login: LOGIN }
  expect(await checkServer(own, { limits: PATIENT, dial })).toMatchObject({ is: 'failed', reason: 'enologin' })
  expect(await checkServer({ ...own, login: null }, { limits: PATIENT, dial })).toMatchObject({ is: 'fine' })
  expect(await checkServer(own, { limits: PATIENT })).toMatchObject({ is: 'fine', login: 'unasked' })
})

describe('a working server', () => {
  test.each<[string, Given, object]>([
    ['with a login', { login: LOGIN, options: ASKS }, { isSecure: true, login: 'taken' }],
    ['under TLS from the first byte', { isSecure: true, options: { secure: true } }, { isSecure: true, login: 'none' }],
    ['without a login', {}, { isSecure: false, login: 'none' }],
    [
      'without TLS on a remote server, if the setting allows it',
      { host: FAR, isTlsOptional: true },
      { isSecure: false, login: 'none' },
    ],
    [
      'with optional TLS on a remote server, whatever the certificate',
      { host: FAR, isTlsOptional: true, options: { disabledCommands: [] } },
      { isSecure: true, login: 'none' },
    ],
    [
      'that asks for none',
      { login: LOGIN, options: { disabledCommands: ['AUTH'] } },
      { isSecure: true, login: 'unasked' },
    ],
  ])('%s', async (_, given, expected) => {
    expect((await check(given)).found).toMatchObject({ is: 'fine', ...expected })
  })

  test(
    'is left at once, without open connections',
    async () => {
      const left = Promise.withResolvers<void>()
      const { server } = await check({ options: { onClose: () => left.resolve() } })
      await left.promise
      expect(server.connections()).toBe(0)
    },
    LEAVE_MS,
  )
})

describe('a broken server', () => {
  test.each<[string, string, Given]>([
    ['a wrong password', 'smtp_535', { login: { ...LOGIN, password: 'wrong' }, options: ASKS }],
    ['no TLS on a remote server', 'etls', { host: FAR }],
    ['an untrusted certificate', 'euntrusted', { host: FAR, options: { disabledCommands: [], ...OWN } }],
    ['no TLS although it is expected at once', 'eplain', { isSecure: true }],
    ['a temporary refusal at the greeting', 'smtp_421', { behaviour: { connect: () => 421 } }],
    ['a permanent refusal at the greeting', 'smtp_554', { behaviour: { connect: () => 554 } }],
    ['a connection that drops', 'econnection', { behaviour: { connect: () => 'drop' } }],
    ['a silent server', 'etimedout', { behaviour: { connect: () => 'hang' }, mailMs: 50 }],
  ])('%s', async (_, reason, given) => {
    expect((await check(given)).found).toMatchObject({ is: 'failed', reason })
  })

  test('quotes its answer, unless it repeats the password', async () => {
    const sayNo = (text: string): Given => ({
      login: LOGIN,
      options: {
        disabledCommands: [],
        onAuth: (_, __, done) => done(Object.assign(new Error(text), { responseCode: 535 })),
      },
    })
    const asked = await check(sayNo('5.7.8 use an app password'))
    expect(asked.found).toEqual({
      is: 'failed',
      reason: 'smtp_535',
      reply: '535 5.7.8',
      answer: '535 5.7.8 use an app password',
    })
    expect(asked.failures).toMatchObject([{ answer: '535 5.7.8 use an app password' }])
    const repeated = await check(sayNo('secret is wrong'))
    expect(repeated.failures).toMatchObject([{ is: 'refused', answer: undefined }])
    expect(repeated.found).toEqual({ is: 'failed', reason: 'smtp_535', reply: '535', answer: undefined })
  })

  test('no one listens', async () => {
    const { port, stop } = await startMailServer()
    await stop()
    const found = await checkServer({ host: NEAR, port, isSecure: false, login: null })
    expect(found).toMatchObject({ is: 'failed', reason: 'erefused' })
  })

  test('an unknown name', async () => {
    const found = await checkServer({ host: 'nowhere.invalid', port: 25, isSecure: false, login: null })
    expect(found).toMatchObject({ is: 'failed', reason: expect.stringMatching(/^e/) })
  })

  test.each([NEAR, FAR])('a password is never sent without TLS, to %s', async (host) => {
    const sent: string[] = []
    const onAuth: SMTPServerOptions['onAuth'] = ({ password }, _, done) => {
      sent.push(password ?? '')
      done(null, { user: 'ada' })
    }
    const { found } = await check({ host, login: LOGIN, options: { onAuth, allowInsecureAuth: true } })
    expect([found, sent]).toMatchObject([{ is: 'failed', reason: 'etls' }, []])
  })
})

test('without a server nothing is tried', async () => {
  expect(await checkServer(null)).toBe(null)
})
