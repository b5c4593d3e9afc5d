import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { createApp, createKey, rotateIdentitySecret } from '../../src/core/accounts.ts'
import { verifyIdentity, signEmail } from '../../src/core/identity.ts'
import { type AccountPages, type Browser, openAccount, PASSWORD } from './browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from './pages.ts'

const MINUTE = 60_000
const FIELDS = { name: 'Production', scope: 'standard' }

let pages: AccountPages
let owner: Browser
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
})
afterEach(() => pages.close())

const keys = () => pages.at('keys')
const make = (fields: Record<string, string> = {}) => owner.post(keys(), { ...FIELDS, ...fields })
const rowsOf = async (html: string) => {
  const all = await textOf(html, '[aria-label="API keys"] tbody td:not(.action)')
  const cells = all.map((text) => text.trim())
  return Array.from({ length: cells.length / 5 }, (_, row) => cells.slice(row * 5, row * 5 + 5))
}
const listed = () => pages.store.listKeys(pages.begun.accountId)

describe('the list', () => {
  test('shows what became of each key, and no text of any', async () => {
    const { status, html } = await owner.get(keys())
    expect(status).toBe(200)
    expect(await rowsOf(html)).toEqual([['First key', 'Standard', 'just now', 'Never', 'Works']])
    expect(html).not.toMatch(/mc_|is_/)
  })

  test('shows a use at once, though it is saved later', async () => {
    const access = await pages.access.find(pages.begun.apiKey)
    if (access) pages.access.noteUse(access, false)
    pages.clock.ms += 5 * MINUTE
    expect((await rowsOf((await owner.get(keys())).html))[0]?.[3]).toBe('5 minutes ago')
  })

  test('warns of a key that a browser has sent, until it is revoked', async () => {
    const access = await pages.access.find(pages.begun.apiKey)
    if (access) pages.access.noteUse(access, true)
    await pages.access.saveUses()
    const { html } = await owner.get(keys())
    expect((await rowsOf(html))[0]?.[0]).toBe('First key Seen in a browser')
    expect((await textOf(html, '.notice'))[0]).toStartWith(
      'Caution: The key “First key” was sent by a browser, last on 3 May 2026, 12:00 UTC.',
    )
    const [id = ''] = await attributesOf(html, '[name=key]', 'value')
    await owner.post(`${keys()}/revoke`, { key: id ?? '' })
    expect(await textOf((await owner.get(keys())).html, '.notice.caution')).toEqual([])
  })

  test('those that work come first, 50 on a page', async () => {
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    for (let i = 0; i < 60; i++) {
      await createKey(maker, pages.begun.accountId, { name: `Key ${i}`, scope: 'standard' })
    }
    const all = await listed()
    for (const { id } of all.slice(0, 30)) await owner.post(`${keys()}/revoke`, { key: id })
    const first = (await owner.get(keys())).html
    expect(await textOf(first, '.lead')).toEqual(['31 keys work.'])
    const states = (await rowsOf(first)).map((row) => row[4])
    expect([states.length, states.lastIndexOf('Works'), states.indexOf('Revoked just now')]).toEqual([50, 30, 31])
    const [older] = await attributesOf(first, '.pager a', 'href')
    const second = (await owner.get(older ?? '')).html
    expect((await rowsOf(second)).length).toBe(11)
    expect(await attributesOf(second, '.pager a', 'href')).toEqual([keys()])
    expect((await rowsOf((await owner.get(`${keys()}?after=${HOSTILE}`)).html)).length).toBe(50)
  })

  test('shows what AI clients did with them, the latest first', async () => {
    const shown = async () =>
      (await textOf((await owner.get(keys())).html, '[aria-label="Calls over MCP"] tbody td')).map((text) =>
        text.trim(),
      )
    expect(await shown()).toEqual([])
    const [key] = await listed()
    const call = { accountId: pages.begun.accountId, keyId: key?.id ?? '', outcome: 'ok', client: 'claude-code/2.1.3' }
    const calls = Array.from({ length: 25 }, () => ({
      ...call,
      tool: 'get_contact',
      ms: 3,
      calledAt: pages.clock.ms - 1,
    }))
    const last = { ...call, tool: 'send_event', outcome: 'contact_not_found', client: null, ms: 12 }
    const theirs = { ...call, accountId: 'acc_other', tool: 'get_stats', ms: 1, calledAt: pages.clock.ms }
    await pages.store.addCalls([...calls, { ...last, calledAt: pages.clock.ms }, theirs])
    const cells = await shown()
    expect(cells).toHaveLength(20 * 6)
    expect(cells.slice(0, 12)).toEqual([
      ...['just now', 'send_event', 'contact_not_found', '12 ms', 'Not named', 'First key'],
      ...['just now', 'get_contact', 'Done', '3 ms', 'claude-code/2.1.3', 'First key'],
    ])
  })

  test('hostile names are text', async () => {
    const name = HOSTILE.slice(0, 100)
    pages.clock.ms += 1
    await make({ name })
    const { html } = await owner.get(keys())
    await expectHarmless(html)
    expect((await rowsOf(html))[0]?.[0]).toBe(name)
  })
})

describe('making a key', () => {
  test('shows it once, with the identity secret and where both belong', async () => {
    const { status, html } = await make({ scope: 'ingest' })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your new key']])
    const [apiKey = '', identitySecret] = await textOf(html, 'dd code')
    expect(identitySecret).toBe(pages.begun.identitySecret)
    expect((await pages.access.find(apiKey))?.key).toMatchObject({ name: 'Production', scope: 'ingest' })
    expect(await textOf(html, '#environment')).toEqual([
      `SERVICE_API_KEY=${apiKey}\nSERVICE_IDENTITY_SECRET=${identitySecret}`,
    ])
    for (const word of ['NEXT_PUBLIC_', 'VITE_', 'AI chat']) expect(html).toContain(word)
    expect(await textOf(html, '.once .primary')).toEqual(['I have stored them'])
    expect((await owner.get(keys())).html).not.toContain(apiKey)
  })

  test('a form that is sent twice makes one key', async () => {
    const { html } = await owner.get(`${keys()}/new`)
    const [form = ''] = await attributesOf(html, '[name=form]', 'value')
    const sent = await Promise.all([make({ form: form ?? '' }), make({ form: form ?? '' })])
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await listed()).toHaveLength(2)
  })

  test.each([
    [{ name: ' ' }, '#name-fault', 'Error: Give a name of 1 to 100 characters.'],
    [{ name: 'x'.repeat(101) }, '#name-fault', 'Error: Give a name of 1 to 100 characters.'],
    [{ scope: 'everything' }, '.fault', 'Choose one of standard, ingest, manage.'],
  ])('400: %p keeps what was typed', async (fields, selector, message) => {
    const { status, html } = await make(fields)
    expect([status, await textOf(html, selector)]).toEqual([400, [message]])
    expect(await attributesOf(html, '#name', 'value')).toEqual([{ ...FIELDS, ...fields }.name])
    expect(await listed()).toHaveLength(1)
  })

  test('503: a full disk keeps what was typed', async () => {
    const failing = spyOn(pages.store, 'createKey').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await make({ scope: 'manage' })
    failing.mockRestore()
    expect([status, await attributesOf(html, 'input[checked]', 'value')]).toEqual([503, ['manage']])
    expect((await textOf(html, '[role=alert]'))[0]).toContain('cannot save right now')
  })
})

describe('the password, again', () => {
  test('is asked for 10 minutes after it was typed, and then not for 10 minutes', async () => {
    pages.clock.ms += 10 * MINUTE - 1
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Your new key')
    pages.clock.ms += 1
    const asked = await make({ name: HOSTILE })
    expect(await textOf(asked.html, 'h1')).toEqual(['Your password, again'])
    expect(await attributesOf(asked.html, 'main form', 'action')).toEqual([keys()])
    expect(await attributesOf(asked.html, 'main [type=hidden][name=name]', 'value')).toEqual([HOSTILE])
    await expectHarmless(asked.html)
    expect(asked.html).not.toContain(pages.begun.identitySecret)
    expect((await textOf((await make({ confirmPassword: PASSWORD })).html, 'h1'))[0]).toBe('Your new key')
    pages.clock.ms += 10 * MINUTE - 1
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Your new key')
  })

  test('a wrong one makes nothing and keeps what waits', async () => {
    pages.clock.ms += 10 * MINUTE
    const { status, html } = await make({ confirmPassword: 'wrong' })
    expect([status, await textOf(html, '#confirmPassword-fault')]).toEqual([400, ['Error: This is not your password.']])
    expect(await attributesOf(html, 'main [type=hidden][name=name]', 'value')).toEqual([FIELDS.name])
    expect(html).not.toContain('value="wrong"')
    expect(await listed()).toHaveLength(1)
  })

  test('wrong ones are counted as those of signing in', async () => {
    pages.clock.ms += 10 * MINUTE
    spyOn(Bun.password, 'verify').mockResolvedValue(false)
    for (let i = 0; i < 20; i++) await make({ confirmPassword: 'wrong' })
    const { status, headers } = await make({ confirmPassword: PASSWORD })
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true])
    spyOn(Bun.password, 'verify').mockRestore()
  })

  test('a clock that was set back does not spare it', async () => {
    pages.clock.ms -= DAY
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Your password, again')
  })
})

describe('revoking', () => {
  test('refuses the key from its next request on', async () => {
    expect(await pages.access.find(pages.begun.apiKey)).not.toBeNull()
    const [key] = await listed()
    const { status, location } = await owner.post(`${keys()}/revoke`, { key: key?.id ?? '' })
    expect([status, location]).toEqual([303, keys()])
    expect(await pages.access.find(pages.begun.apiKey)).toBeNull()
    const { html } = await owner.get(keys())
    expect(await textOf(html, '[role=status]')).toEqual([
      'Done: The key was revoked. Requests with it are refused from now on.',
    ])
    expect((await rowsOf(html))[0]?.[4]).toBe('Revoked just now')
    expect(await textOf(html, '.lead')).toEqual(['No key works, so nothing can arrive.'])
  })

  test('asks for the password when that was typed 10 minutes ago, also for the secret before', async () => {
    pages.clock.ms += 10 * MINUTE
    const [key] = await listed()
    const fields = { key: key?.id ?? '' }
    for (const path of [`${keys()}/revoke`, `${keys()}/secret/revoke`]) {
      expect(await textOf((await owner.post(path, fields)).html, 'h1')).toEqual(['Your password, again'])
    }
    expect(await pages.access.find(pages.begun.apiKey)).not.toBeNull()
    await owner.post(`${keys()}/revoke`, { ...fields, confirmPassword: PASSWORD })
    expect(await pages.access.find(pages.begun.apiKey)).toBeNull()
  })

  test('a key of another account, or none, does not exist', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const [theirs] = await pages.store.listKeys(other.accountId)
    for (const key of [theirs?.id ?? '', 'key_none', '']) {
      expect((await owner.post(`${keys()}/revoke`, { key })).status).toBe(404)
    }
    expect(await pages.access.find(other.apiKey)).not.toBeNull()
  })
})

describe('the identity secret', () => {
  const secretPath = () => `${keys()}/secret`
  const currentId = async () =>
    (await attributesOf((await owner.get(keys())).html, '[name=replaces]', 'value'))[0] ?? ''
  const isAccepted = async (secret: string) => {
    const now = pages.clock.now()
    const secrets = await pages.store.listSecrets(pages.begun.accountId, now - DAY)
    return verifyIdentity({ email: 'a@b.example', signature: signEmail('a@b.example', secret), secrets, now }).ok
  }

  test('rotated, the one before works for 24 hours and not one millisecond more', async () => {
    const replaces = await currentId()
    const { status, html } = await owner.post(secretPath(), { replaces })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your new identity secret']])
    const [secret = ''] = await textOf(html, 'dd code')
    expect(await textOf(html, '.lead')).toEqual(['The one before keeps working until 4 May 2026, 12:00 UTC.'])
    expect([await isAccepted(secret), await isAccepted(pages.begun.identitySecret)]).toEqual([true, true])
    const list = (await owner.get(keys())).html
    expect(await textOf(list, 'section dd')).toEqual([
      'Made just now',
      'Works until 4 May 2026, 12:00 UTC, which is in 24 hours',
      'No signature was made with the previous one since it was rotated out.',
    ])
    expect(list).not.toContain(secret)
    pages.clock.ms += DAY - 1
    expect(await isAccepted(pages.begun.identitySecret)).toBe(true)
    pages.clock.ms += 1
    expect([await isAccepted(secret), await isAccepted(pages.begun.identitySecret)]).toEqual([true, false])
  })

  test('signatures of the one before are counted from its rotation on, of all apps', async () => {
    const browser = await pages.signedIn()
    const used = async () => {
      const { html } = await browser.get(pages.at('keys'))
      return (await textOf(html, '.values dd')).filter((text) => text.includes('since it was rotated out'))
    }
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    const [app] = await pages.store.listApps(pages.begun.accountId)
    expect(await used()).toEqual([])
    await rotateIdentitySecret(maker, pages.begun.accountId)
    expect(await used()).toEqual(['No signature was made with the previous one since it was rotated out.'])
    await createApp(maker, pages.begun.accountId, { name: 'Second', domains: [], home: null })
    const second = (await pages.store.listApps(pages.begun.accountId))[1]
    pages.notes.add(app?.id ?? 0, 'old_secret', { origin: 'https://app.example.com' })
    await pages.notes.save()
    pages.notes.add(second?.id ?? 0, 'old_secret', { origin: 'https://second.example' })
    expect(await used()).toEqual([
      '2 signatures were made with the previous one since it was rotated out, the last just now on https://second.example.',
    ])
    await pages.notes.save()
    await rotateIdentitySecret(maker, pages.begun.accountId)
    expect(await used()).toEqual(['No signature was made with the previous one since it was rotated out.'])
  })

  test('a form that is sent twice rotates once', async () => {
    const replaces = await currentId()
    await owner.post(secretPath(), { replaces })
    expect((await owner.post(secretPath(), { replaces })).status).toBe(409)
    expect((await owner.post(secretPath())).status).toBe(409)
    expect(await pages.store.listSecrets(pages.begun.accountId, 0)).toHaveLength(2)
  })

  test('asks for the password', async () => {
    pages.clock.ms += 10 * MINUTE
    const { html } = await owner.post(secretPath(), { replaces: await currentId() })
    expect(await textOf(html, 'h1')).toEqual(['Your password, again'])
    expect(await pages.store.listSecrets(pages.begun.accountId, 0)).toHaveLength(1)
  })

  test('the previous one is revoked at once', async () => {
    await owner.post(secretPath(), { replaces: await currentId() })
    const { status, location } = await owner.post(`${secretPath()}/revoke`)
    expect([status, location, await isAccepted(pages.begun.identitySecret)]).toEqual([303, keys(), false])
    expect(await textOf((await owner.get(keys())).html, 'section dt')).toEqual(['Current'])
  })
})

describe.each(['editor', 'viewer'] as const)('%s', (role) => {
  test('sees the list and changes nothing', async () => {
    await pages.addMember('eve@example.com', role)
    const eve = await pages.signedIn('eve@example.com')
    const { status, html } = await eve.get(keys())
    expect([status, await textOf(html, 'main form, main .primary')]).toEqual([200, []])
    const [key] = await listed()
    const [secret] = await pages.store.listSecrets(pages.begun.accountId, 0)
    const tries = [
      await eve.get(`${keys()}/new`),
      await eve.post(keys(), FIELDS),
      await eve.post(`${keys()}/revoke`, { key: key?.id ?? '' }),
      await eve.post(`${keys()}/secret`, { replaces: secret?.id ?? '' }),
      await eve.post(`${keys()}/secret/revoke`),
    ]
    expect(tries.map((seen) => seen.status)).toEqual([403, 403, 403, 403, 403])
    expect([await listed(), await pages.store.listSecrets(pages.begun.accountId, 0)]).toEqual([
      [key],
      [secret],
    ] as never)
  })
})

test('forms from another site, and from nobody who is signed in, change nothing', async () => {
  const foreign = { 'Sec-Fetch-Site': 'cross-site' }
  for (const path of [keys(), `${keys()}/revoke`, `${keys()}/secret`, `${keys()}/secret/revoke`]) {
    expect((await owner.post(path, FIELDS, foreign)).status).toBe(403)
    expect((await pages.post(path, FIELDS)).status).toBe(401)
  }
  expect(await listed()).toHaveLength(1)
})
