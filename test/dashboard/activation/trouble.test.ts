import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../../src/accounts/accounts.ts'
import { type AccountPages, openAccount } from '../browser.ts'
import { DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const MINUTE = 60_000

describe('refusals', () => {
  const appId = async () => (await pages.store.listApps(pages.begun.accountId))[0]?.id ?? 0
  const troubles = async () =>
    textOf((await (await pages.signedIn()).get(pages.at('activation'))).html, '.troubles > li')

  test('show reason, count and time for seven days', async () => {
    expect(await troubles()).toEqual([])
    const id = await appId()
    pages.notes.add(id, 'refused_call', { reason: `\`event\`: Send ${HOSTILE}` })
    pages.notes.add(id, 'failed_signature', { reason: 'uppercase', origin: 'https://app.example.com' })
    pages.notes.add(id, 'refused', { reason: 'Pages of this host may not report.' })
    pages.notes.add(id, 'foreign_host', { reason: 'Pages of this host', origin: 'https://other.example' })
    pages.notes.add(id, 'limited', { reason: 'More than 30 wrong signatures per minute came from this address.' })
    pages.notes.add(id, 'unknown_person')
    pages.clock.ms += 5 * MINUTE
    pages.notes.add(id, 'refused', { reason: 'Send 1 to 20 items.' })
    expect(await troubles()).toEqual([
      `A call of your server was refusedevent: Send ${HOSTILE}Once, 5 minutes ago`,
      'A signature was wrongIt was in uppercase. Send it as lowercase hexadecimal. Check oneOnce, 5 minutes ago, from https://app.example.com',
      'A report of a page was refusedSend 1 to 20 items.The last of 2, just now',
      'A page of another host reportedIts pages may not report here. The list of those that may is in Settings.Once, 5 minutes ago, from https://other.example',
      'Pages sent too muchMore than 30 wrong signatures per minute came from this address.Once, 5 minutes ago',
      expect.stringContaining('Unknown people'),
    ])
    await expectHarmless((await (await pages.signedIn()).get(pages.at('activation'))).html)
    pages.clock.ms += 7 * DAY
    expect(await troubles()).toEqual([])
  })

  test('show a previous secret only while it works', async () => {
    pages.notes.add(await appId(), 'old_secret')
    expect(await troubles()).toEqual([])
    await rotateIdentitySecret({ store: pages.store, now: pages.clock.now(), actor: 'test' }, pages.begun.accountId)
    pages.notes.add(await appId(), 'old_secret')
    expect(await troubles()).toEqual([expect.stringContaining('still signs with the previous identity secret')])
  })

  test('show a key in a browser until it is revoked', async () => {
    const access = await pages.access.find(pages.begun.apiKey)
    if (!access) throw new Error('the key is unknown')
    pages.access.noteUse(access, true)
    await pages.access.saveUses()
    pages.access.noteUse(access, false)
    expect(await troubles()).toEqual([expect.stringContaining('can read “First key”')])
    await pages.store.revokeKey({ accountId: pages.begun.accountId, actor: 'test', at: 1, keyId: access.key.id })
    expect(await troubles()).toEqual([])
  })
})
