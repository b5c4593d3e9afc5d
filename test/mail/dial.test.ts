import { describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import { readPrivateHosts, type PrivateHosts } from '../../src/core/public-addresses.ts'
import { createGuardedDial } from '../../src/mail/dial.ts'
import { checkServer } from '../../src/mail/server-check.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { useClosing } from '../closing.ts'
import { LOOPBACK_HOSTS } from '../helper.ts'
import { startMailServer } from './mail-server.ts'
import { MINUTE, live, useSharedSending } from './sending.ts'
import { OWN } from './certificates.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const keep = useClosing()
const start = useSharedSending()

const NOBODY: PrivateHosts = { names: new Set(), ranges: [] }
const notShared = async () => null
const MEMBER = { name: '', address: 'member@owner.example' }

const reachedIn = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'reached',
    (error: { code: string }) => error.code,
  )

async function listen(options: SMTPServerOptions = {}) {
  let connections = 0
  const server = await startMailServer({ connect: () => (connections++ < 0 ? 'drop' : 'accept') }, options)
  keep({ close: server.stop })
  return { ...server, count: () => connections }
}

describe('a refused address', () => {
  test.each(['127.0.0.1', '127.1', '0x7f.1', '2130706433', '0.0.0.0', '::ffff:127.0.0.1', '::1', 'localhost'])(
    'is not dialled: %s',
    async (host) => {
      const { port, count } = await listen()
      const dial = createGuardedDial({ allowed: NOBODY, findShared: notShared })
      expect(await reachedIn(dial({ host, port, login: null }, { withinMs: 10_000 }))).toBe('EPRIVATE')
      expect(count()).toBe(0)
    },
  )

  test(
    'gives the same answer for an open, closed or silent port and an unknown name',
    async () => {
      const [open, closed] = [await listen(), await listen()]
      await closed.stop()
      const silent = await startMailServer({ connect: () => 'hang' })
      keep({ close: silent.stop })
      const dial = createGuardedDial({ allowed: NOBODY, findShared: notShared })
      const check = async (host: string, port: number) => {
        const startedAt = performance.now()
        const found = await checkServer({ host, port, isSecure: false, login: null }, { dial })
        return { found, isQuick: performance.now() - startedAt < 1_000 }
      }
      const answers = await Promise.all([
        check('127.0.0.1', open.port),
        check('127.0.0.1', closed.port),
        check('127.0.0.1', silent.port),
        check('nowhere.invalid', open.port),
      ])
      const same = { found: { is: 'failed' as const, reason: 'eprivate' }, isQuick: true }
      expect(answers).toEqual([same, same, same, same])
      expect(open.count()).toBe(0)
    },
    BEST_OF_FIVE,
  )

  test('is skipped if the name has another one', async () => {
    const { port } = await listen()
    const allowed = readPrivateHosts(['127.0.0.1'])
    if ('wrong' in allowed) throw new Error(allowed.wrong)
    const resolve = async () => ['10.0.0.1', '127.0.0.1']
    const dial = createGuardedDial({ allowed, findShared: notShared, resolve })
    const socket = await dial({ host: 'mail.example', port, login: null }, { withinMs: 10_000 })
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
  })
})

test('tries the next address of a server if one does not answer', async () => {
  const { port } = await listen()
  const allowed = readPrivateHosts(['127.0.0.0/8'])
  if ('wrong' in allowed) throw new Error(allowed.wrong)
  const resolve = async () => ['127.0.0.9', '127.0.0.1']
  const dial = createGuardedDial({ allowed, findShared: notShared, resolve })
  const socket = await dial({ host: 'mail.example', port, login: null }, { withinMs: 10_000 })
  expect(socket.remoteAddress).toBe('127.0.0.1')
  socket.destroy()
})

test('dials the checked address, and uses the name for TLS', async () => {
  const names: (string | undefined)[] = []
  const { port } = await listen({
    disabledCommands: [],
    ...OWN,
    SNICallback: (name, done) => {
      names.push(name)
      done(null)
    },
  })
  let asked = 0
  const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1'])
  const allowed = { names: new Set(['mail.example']), ranges: [] }
  const dial = createGuardedDial({ allowed, findShared: notShared, resolve })
  const found = await checkServer({ host: 'mail.example', port, isSecure: false, login: null }, { dial })
  // the certificate is compared with the name, but isn't trusted
  expect([found, asked, names]).toEqual([{ is: 'failed', reason: 'euntrusted' }, 1, ['mail.example']])
})

test('checks every connection: a name that moved to a private address is refused', async () => {
  const { port, received, connections } = await listen()
  const allowed = readPrivateHosts(['127.0.0.1'])
  if ('wrong' in allowed) throw new Error(allowed.wrong)
  let address = '127.0.0.1'
  const dial = createGuardedDial({ allowed, findShared: notShared, resolve: async () => [address] })
  const server = { host: 'mail.example', port, isSecure: false, login: null, isTlsOptional: true as const }
  const open = () => createSmtpProvider(server, { ...SMTP_LIMITS, connections: 1 }, dial)
  const mail = { from: 'a@first.example', to: 'b@example.com', raw: Buffer.from('Subject: x\r\n\r\nx\r\n') }
  const provider = open()
  keep({ close: async () => provider.close() })
  expect(await provider.send(mail, async () => true)).toEqual({ is: 'sent' })
  address = '127.0.0.2'
  // an open connection still leads to the checked address
  expect(await provider.send(mail, async () => true)).toEqual({ is: 'sent' })
  expect([received.length, connections()]).toEqual([2, 1])
  const next = open()
  keep({ close: async () => next.close() })
  expect(await next.send(mail, async () => true)).toEqual({ is: 'unreachable', reason: 'eprivate' })
})

describe('the server of an app', () => {
  test('on a private address gets no email, test or check; emails wait', async () => {
    const own = await listen()
    const sending = await start({}, {}, { privateHosts: NOBODY })
    await sending.setSettings({ smtpUrl: own.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'deferred: eprivate': 1 })
    const settings = await sending.store().mailSettings(sending.app.id)
    expect(await sending.sender().checkServer(sending.app, settings)).toEqual({ is: 'failed', reason: 'eprivate' })
    const [delivery] = await sending.deliveries()
    const work = delivery && (await sending.store().findWork(delivery.id))
    expect(work && (await sending.sender().sendTest(work, MEMBER))).toEqual({ is: 'failed', reason: 'eprivate' })
    expect(own.count()).toBe(0)
  })

  test('that names the server of the operator is refused like any other, and delays no other app', async () => {
    const sending = await start({}, {}, { privateHosts: NOBODY })
    await sending.setSettings({ smtpUrl: sending.server.url })
    await inTurn(20, (index) => sending.sendEvent(`p${index}@example.com`))
    await live(sending, 2 * MINUTE)
    expect(sending.server.received).toEqual([])
    await sending.setSettings({ smtpUrl: null })
    sending.clock.tick(MINUTE)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 20 })
  })

  test('that is the shared server of the installation needs its own login', async () => {
    const sending = await start()
    await sending.setSettings({ smtpUrl: sending.server.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect([await sending.states(), sending.server.received]).toEqual([{ 'deferred: eshared': 1 }, []])
  })
})

test('a shared server is recognized by its address; a public one at every port', async () => {
  const addresses: Record<string, string[]> = { 'relay.example': ['8.8.8.8'], 'alias.example': ['8.8.8.8'] }
  const resolve = async (host: string) => addresses[host] ?? []
  const findShared = async () => ({ host: 'relay.example', port: 587 })
  const dial = createGuardedDial({ allowed: LOOPBACK_HOSTS, findShared, resolve })
  expect(await reachedIn(dial({ host: 'alias.example', port: 25, login: null }, { withinMs: 10_000 }))).toBe('ESHARED')
})

async function inTurn(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) await work(index)
}
