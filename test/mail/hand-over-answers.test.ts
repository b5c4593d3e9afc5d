import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HOUR, LOOPBACK_HOSTS } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import type { Doing } from './mail-server.ts'
import { live, MINUTE, type Sending, useSharedSending } from './sending.ts'

const start = useSharedSending()

/** In another process: closing a database file here would drop its locks. */
const readFiles = (folder: string): string =>
  Bun.spawnSync(['cat', ...readdirSync(folder).map((file) => join(folder, file))]).stdout.toString('latin1')

test('logs a mail server without a valid certificate', async () => {
  const lines: Record<string, unknown>[] = []
  const createProvider = () => ({
    send: async () => ({ is: 'unreachable', reason: 'euntrusted' }) as const,
    close: () => {},
  })
  const sending = await start({}, {}, { createProvider, note: (line) => void lines.push(line) })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(lines).toEqual([expect.objectContaining({ deliveryId: expect.stringMatching(/^dlv_/), reason: 'euntrusted' })])
})

describe('the reply of the mail server', () => {
  const reply = async ({ deliveries }: Sending): Promise<string | undefined> => {
    const [delivery] = await deliveries()
    return delivery && recordOf(delivery).reply
  }
  /** Refuses recipients with these texts. */
  const startRefusing = async (first: Doing) => {
    const next: { does: Doing; says: string } = { does: first, says: '5.7.1 Not you, ada@example.com' }
    const logged: object[] = []
    const defaults = { smtpUrl: null, from: 'hello@first.example' }
    const mail = {
      defaults,
      privateHosts: LOOPBACK_HOSTS,
      noteServer: (line: object) => void logged.push(line),
    }
    const sending = await start({}, { recipient: () => next.does, words: () => next.says }, mail)
    await sending.setSettings({ smtpUrl: sending.server.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    return { sending, next, logged }
  }

  test('is logged in full, without addresses; only its codes are stored', async () => {
    const { sending, logged } = await startRefusing(550)
    expect(await reply(sending)).toBe('550 5.7.1')
    expect(logged).toEqual([
      {
        about: expect.stringMatching(/^dlv_/),
        appId: sending.app.publicId,
        server: `app smtp://127.0.0.1:${sending.server.port}`,
        reason: 'smtp_550',
        answer: '550 5.7.1 Not you, [email]',
      },
    ])
    expect(readFiles(sending.folder)).not.toContain('Not you')
  })

  test('is shown while the email waits, replaced by the next, and removed once sent', async () => {
    const { sending, next } = await startRefusing(450)
    expect(await reply(sending)).toBe('450 5.7.1')
    next.says = 'Come again'
    await live(sending, MINUTE)
    expect(await reply(sending)).toBe('450')
    next.does = 'drop'
    await live(sending, 5 * MINUTE)
    expect([await sending.states(), await reply(sending)]).toEqual([{ 'deferred: econnection': 1 }, undefined])
    next.does = 451
    await live(sending, 15 * MINUTE)
    expect(await reply(sending)).toBe('451')
    next.does = 'accept'
    await live(sending, 4 * HOUR)
    expect([await sending.states(), await reply(sending)]).toEqual([{ sent: 1 }, undefined])
  })

  test('stays when something else defers the email, and is removed when it is captured', async () => {
    const { sending } = await startRefusing(450)
    await sending.setSettings({ sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '03:00', until: '04:00' } })
    await live(sending, MINUTE)
    expect([await sending.states(), await reply(sending)]).toEqual([{ 'deferred: window': 1 }, '450 5.7.1'])
    await sending.setSettings({ sendWindow: null, smtpUrl: null })
    await live(sending, 16 * HOUR)
    expect([await sending.states(), await reply(sending)]).toEqual([{ kept: 1 }, undefined])
  })

  test('stays while the server is paused', async () => {
    const { sending, next } = await startRefusing(450)
    next.does = 421
    await sending.sendEvent('bob@example.com')
    await sending.sendDue()
    // both are due, but only one tries the server
    await live(sending, MINUTE)
    const other = (await sending.deliveries()).find(({ reason }) => reason === 'server_paused')
    expect(other && recordOf(other).reply).toMatch(/^4(50|21) 5.7.1$/)
  })
})
