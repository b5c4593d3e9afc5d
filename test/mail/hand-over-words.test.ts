/** What a mail server said is kept with the mail, and for no longer than it is worth knowing (messages.md, Sending). */
import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CONTACTS, HOUR } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import type { Doing } from './mail-server.ts'
import { live, MINUTE, type Sending, useSending } from './sending.ts'

const start = useSending()

/** Read by another process: to close a file of the database here would drop the locks on it. */
const readFiles = (folder: string): string =>
  Bun.spawnSync(['cat', ...readdirSync(folder).map((file) => join(folder, file))]).stdout.toString('latin1')

describe('what the mail server said', () => {
  const said = async ({ deliveries }: Sending): Promise<string | undefined> => {
    const [delivery] = await deliveries()
    return delivery && recordOf(delivery).said
  }
  /** A server that does as it is told, and says so. */
  const startSaying = async (first: Doing) => {
    const next: { does: Doing; says: string } = { does: first, says: '5.7.1 Not you, ada@example.com' }
    const defaults = { smtpUrl: null, from: 'hello@first.example' }
    const sending = await start({}, { recipient: () => next.does, words: () => next.says }, { defaults })
    await sending.setSettings({ smtpUrl: sending.server.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    return { sending, next }
  }

  test('for good is kept with the delivery', async () => {
    const { sending } = await startSaying(550)
    expect(await said(sending)).toBe('550 5.7.1 Not you, ada@example.com')
  })

  test('is there while it waits, replaced by what it says next, and gone once it is sent', async () => {
    const { sending, next } = await startSaying(450)
    expect(await said(sending)).toBe('450 5.7.1 Not you, ada@example.com')
    next.says = 'Come again'
    await live(sending, MINUTE)
    expect(await said(sending)).toBe('450 Come again')
    next.does = 'drop'
    await live(sending, 5 * MINUTE)
    expect([await sending.states(), await said(sending)]).toEqual([{ 'deferred: econnection': 1 }, undefined])
    next.does = 451
    await live(sending, 15 * MINUTE)
    expect(await said(sending)).toBe('451 Come again')
    next.does = 'accept'
    await live(sending, 4 * HOUR)
    expect([await sending.states(), await said(sending)]).toEqual([{ sent: 1 }, undefined])
  })

  test('is still there where something else puts it off, and gone where the mail is kept', async () => {
    const { sending } = await startSaying(450)
    await sending.setSettings({ sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '03:00', until: '04:00' } })
    await live(sending, MINUTE)
    expect([await sending.states(), await said(sending)]).toEqual([
      { 'deferred: window': 1 },
      '450 5.7.1 Not you, ada@example.com',
    ])
    await sending.setSettings({ sendWindow: null, smtpUrl: null })
    await live(sending, 16 * HOUR)
    expect([await sending.states(), await said(sending)]).toEqual([{ kept: 1 }, undefined])
  })

  test('is still there while the server is left alone', async () => {
    const { sending, next } = await startSaying(450)
    next.does = 421
    await sending.sendEvent('bob@example.com')
    await sending.sendDue()
    // both are due, and only one of them tries the server
    await live(sending, MINUTE)
    const other = (await sending.deliveries()).find(({ reason }) => reason === 'server_paused')
    expect(other && recordOf(other).said).toMatch(/^4(50|21) 5.7.1 Not you/)
  })

  test('is not held once the person is erased', async () => {
    const { sending } = await startSaying(550)
    expect(readFiles(sending.folder)).toContain('Not you, ada@example.com')
    const body = { newsletter: sending.app.publicId, email: 'ada@example.com' }
    expect((await sending.call('DELETE', CONTACTS, { body })).status).toBe(200)
    await sending.store().whenBlanked()
    expect(await sending.deliveries()).toEqual([])
    expect(readFiles(sending.folder)).not.toContain('Not you')
  })
})
