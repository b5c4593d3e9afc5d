import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { createKey } from '../../../src/accounts/accounts.ts'
import { type AccountPages, type Browser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

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
  return Array.from({ length: cells.length / 6 }, (_, row) => cells.slice(row * 6, row * 6 + 6))
}
const listed = () => pages.store.listKeys(pages.begun.accountId)

describe('the list', () => {
  test('shows the state of each key, never the key', async () => {
    const { status, html } = await owner.get(keys())
    expect(status).toBe(200)
    expect(await rowsOf(html)).toEqual([
      ['First key', pages.begun.apiKey.slice(-4), 'Standard', 'just now', 'Never', 'Active'],
    ])
    expect(html).not.toMatch(/mc_|is_/)
  })

  test('shows a use before it is saved', async () => {
    const access = await pages.access.find(pages.begun.apiKey)
    if (access) pages.access.noteUse(access, false)
    pages.clock.ms += 5 * MINUTE
    expect((await rowsOf((await owner.get(keys())).html))[0]?.[4]).toBe('5 minutes ago')
  })

  test('warns about a key sent by a browser until it is revoked', async () => {
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

  test('lists active keys first, 50 on a page', async () => {
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    for (let i = 0; i < 60; i++) {
      await createKey(maker, pages.begun.accountId, { name: `Key ${i}`, scope: 'standard' })
    }
    const all = await listed()
    for (const { id } of all.slice(0, 30)) await owner.post(`${keys()}/revoke`, { key: id })
    const first = (await owner.get(keys())).html
    expect(await textOf(first, '.lead')).toEqual(['31 active keys.'])
    expect((await textOf(first, '.after-table')).join()).toMatch(
      /^Standard: Reads data, and writes people and events, .* erases people/,
    )
    const states = (await rowsOf(first)).map((row) => row[5])
    expect([states.length, states.lastIndexOf('Active'), states.indexOf('Revoked just now')]).toEqual([50, 30, 31])
    const [older] = await attributesOf(first, '.pager a', 'href')
    const second = (await owner.get(older ?? '')).html
    expect((await rowsOf(second)).length).toBe(11)
    expect(await attributesOf(second, '.pager a', 'href')).toEqual([keys()])
    expect((await rowsOf((await owner.get(`${keys()}?after=${HOSTILE}`)).html)).length).toBe(50)
  })

  test('shows calls of AI clients, latest first', async () => {
    const shown = async () =>
      (await textOf((await owner.get(keys())).html, '[aria-label="MCP calls"] tbody td')).map((text) => text.trim())
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
      'just now',
      'send_event',
      'Unknown person',
      '12 ms',
      'Unknown',
      'First key',
      'just now',
      'get_contact',
      'Done',
      '3 ms',
      'claude-code/2.1.3',
      'First key',
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
  test('shows it once, with the identity secret and where to store both', async () => {
    const { status, html } = await make({ scope: 'ingest' })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your new key']])
    const [apiKey = '', identitySecret] = await textOf(html, 'dd code')
    expect(identitySecret).toBe(pages.begun.identitySecret)
    expect((await pages.access.find(apiKey))?.key).toMatchObject({ name: 'Production', scope: 'ingest' })
    expect(await textOf(html, '#environment')).toEqual([
      `export SERVICE_API_KEY=${apiKey}\nexport SERVICE_IDENTITY_SECRET=${identitySecret}`,
    ])
    for (const word of ['NEXT_PUBLIC_', 'VITE_', 'AI chat']) expect(html).toContain(word)
    expect(await textOf(html, '.secret .primary')).toEqual(['I have stored them'])
    expect((await owner.get(keys())).html).not.toContain(apiKey)
  })

  test('a form submitted twice makes one key', async () => {
    const { html } = await owner.get(`${keys()}/new`)
    const [form = ''] = await attributesOf(html, '[name=form]', 'value')
    const sent = await Promise.all([make({ form: form ?? '' }), make({ form: form ?? '' })])
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await listed()).toHaveLength(2)
  })

  test.each([
    [{ name: ' ' }, '#name-fault', 'Error: Enter a name of 1 to 100 characters.'],
    [{ name: 'x'.repeat(101) }, '#name-fault', 'Error: Enter a name of 1 to 100 characters.'],
    [{ scope: 'everything' }, '.fault', 'Choose one of standard, ingest, manage.'],
  ])('400: %p keeps the input', async (fields, selector, message) => {
    const { status, html } = await make(fields)
    expect([status, await textOf(html, selector)]).toEqual([400, [message]])
    expect(await attributesOf(html, '#name', 'value')).toEqual([{ ...FIELDS, ...fields }.name])
    expect(await listed()).toHaveLength(1)
  })

  test('503: a full disk keeps the input', async () => {
    const failing = spyOn(pages.store, 'createKey').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await make({ scope: 'manage' })
    failing.mockRestore()
    expect([status, await attributesOf(html, 'input[checked]', 'value')]).toEqual([503, ['manage']])
    expect((await textOf(html, '[role=alert]'))[0]).toContain("can't save right now")
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
    expect(await textOf(html, '[role=status]')).toEqual(['Done: The key was revoked. Requests with it are refused.'])
    expect((await rowsOf(html))[0]?.[5]).toBe('Revoked just now')
    expect(await textOf(html, '.lead')).toEqual(["No active keys, so your server can't send events."])
  })

  test('asks for the password after 10 minutes, also for the previous secret', async () => {
    pages.clock.ms += 10 * MINUTE
    const [key] = await listed()
    const fields = { key: key?.id ?? '' }
    for (const path of [`${keys()}/revoke`, `${keys()}/secret/revoke`]) {
      expect(await textOf((await owner.post(path, fields)).html, 'h1')).toEqual(['Confirm your password'])
    }
    expect(await pages.access.find(pages.begun.apiKey)).not.toBeNull()
    await owner.post(`${keys()}/revoke`, { ...fields, confirmPassword: PASSWORD })
    expect(await pages.access.find(pages.begun.apiKey)).toBeNull()
  })

  test('a key of another account is unknown', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const [theirs] = await pages.store.listKeys(other.accountId)
    for (const key of [theirs?.id ?? '', 'key_none', '']) {
      expect((await owner.post(`${keys()}/revoke`, { key })).status).toBe(404)
    }
    expect(await pages.access.find(other.apiKey)).not.toBeNull()
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

test('forms from another site or without a session change nothing', async () => {
  const foreign = { 'Sec-Fetch-Site': 'cross-site' }
  for (const path of [keys(), `${keys()}/revoke`, `${keys()}/secret`, `${keys()}/secret/revoke`]) {
    expect((await owner.post(path, FIELDS, foreign)).status).toBe(403)
    expect((await pages.post(path, FIELDS)).status).toBe(401)
  }
  expect(await listed()).toHaveLength(1)
})
