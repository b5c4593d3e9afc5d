import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../../src/accounts/accounts.ts'
import { type AccountPages, openAccount } from '../browser.ts'
import type { NewRequest } from '../../../src/store/requests.ts'
import { attributesOf, DAY, expectHarmless, textOf } from '../pages.ts'

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

  const refuse = async (changes: Partial<NewRequest>) =>
    pages.store.addRequests([
      {
        pool: 'refused',
        accountId: pages.begun.accountId,
        appId: await appId(),
        caller: 'key_1',
        at: pages.clock.ms,
        method: 'POST',
        path: '/api/v1/events',
        tool: null,
        status: 400,
        code: 'invalid_field',
        field: null,
        requestId: 'req_1',
        count: 1,
        ...changes,
      },
    ])

  test('show the last distinct ones with counts and a link to them, for seven days', async () => {
    expect(await troubles()).toEqual([])
    const id = await appId()
    await refuse({ field: 'event', count: 3 })
    await refuse({ appId: null, status: 401, code: 'invalid_api_key', pool: 'unkeyed', accountId: '' })
    await refuse({ status: 403, code: 'origin_not_allowed', caller: 'browser' })
    await refuse({ status: 401, code: 'invalid_signature', caller: 'browser' })
    await refuse({ appId: id + 1, code: 'too_large', status: 413 })
    pages.notes.add(id, 'failed_signature', { reason: 'uppercase', origin: 'https://app.example.com' })
    pages.notes.add(id, 'foreign_host', { reason: 'Pages on this host', origin: 'https://other.example' })
    pages.notes.add(id, 'unknown_person')
    pages.clock.ms += 5 * MINUTE
    await refuse({ field: 'event' })
    expect(await troubles()).toEqual([
      '400invalid_fieldeventA field is missing or invalid.4 times, last just now',
      '401invalid_signatureIt was uppercase. Send lowercase hexadecimal. Last from https://app.example.com. Check a signatureOnce, 5 minutes ago',
      "403origin_not_allowedThe browser script isn't allowed on this host. Last from https://other.example. Add it to the allowed hosts in Settings.Once, 5 minutes ago",
      '401invalid_api_keyThe API key is missing, wrong or revoked.Once, 5 minutes ago',
      expect.stringContaining('Unknown people'),
    ])
    const { html } = await (await pages.signedIn()).get(pages.at('activation'))
    const links = (await attributesOf(html, '.troubles .with-badge a, .all-refused a', 'href')).map(String)
    const app = pages.begun.appId
    expect(links.map((link) => link.replace(pages.at('requests'), ''))).toEqual([
      `?code=invalid_field&field=event&app=${app}`,
      `?code=invalid_signature&app=${app}`,
      `?code=origin_not_allowed&app=${app}`,
      '?code=invalid_api_key&app=none',
      '?app=own_or_none',
    ])
    await expectHarmless(html)
    pages.clock.ms += 7 * DAY + 1
    expect(await troubles()).toEqual([])
  })

  test('show five kinds at most', async () => {
    for (const code of ['a', 'b', 'c', 'd', 'e', 'f']) await refuse({ code })
    expect(await troubles()).toHaveLength(5)
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
    expect(await troubles()).toEqual([expect.stringContaining('the page that sent “First key” can read it')])
    await pages.store.revokeKey({ accountId: pages.begun.accountId, actor: 'test', at: 1, keyId: access.key.id })
    expect(await troubles()).toEqual([])
  })
})
