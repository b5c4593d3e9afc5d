import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { createKey } from '../../../src/accounts/accounts.ts'
import { KEY_HINT } from '../../../src/http/request-input.ts'
import { type NewRequest, NO_ACCOUNT } from '../../../src/store/requests.ts'
import { type AccountPages, appOf, type Browser, createBrowser, openAccount } from '../browser.ts'
import { openLive } from '../live.ts'
import { recordEvent } from '../events/recording.ts'
import { readView, toFilter } from '../../../src/dashboard/requests/requests-view.ts'
import { createTestServer, EVENTS } from '../../helper.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
let keyId = ''
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
  keyId = (await pages.store.listKeys(app.accountId))[0]?.id ?? ''
})
afterEach(() => pages.close())

let number = 0
const request = (changes: Partial<NewRequest> = {}): NewRequest => ({
  pool: 'refused',
  accountId: app.accountId,
  appId: app.id,
  caller: keyId,
  at: pages.clock.ms,
  method: 'POST',
  path: '/api/v1/events',
  tool: null,
  status: 400,
  code: 'invalid_field',
  field: 'email',
  requestId: `req_${(number += 1)}`,
  count: 1,
  ...changes,
})
const stranger = (changes: Partial<NewRequest> = {}): NewRequest =>
  request({
    pool: 'unkeyed',
    accountId: NO_ACCOUNT,
    appId: null,
    caller: 'unknown_key',
    status: 401,
    code: 'invalid_api_key',
    field: null,
    ...changes,
  })
const add = (...requests: NewRequest[]) => pages.store.addRequests(requests)
const see = async (query = '') => (await browser.get(pages.at(`requests${query}`))).html
const rowsOf = async (html: string) => (await textOf(html, '.feed > li')).map((text) => text.replaceAll(/\s+/g, ' '))
/** As the links of the rows have them. */
const listIds = async (html: string) =>
  (await attributesOf(html, 'li .what', 'href')).map((href) => (href ?? '').split('/').at(-1) ?? '')
const leadOf = async (html: string) => (await textOf(html, '.lead'))[0]

describe('Requests', () => {
  test('exports what is filtered, without names of other accounts and formulas', async () => {
    await add(
      request({ requestId: 'req_a', field: '=1+1' }),
      request({ requestId: 'req_b', accountId: 'acc_other' }),
      request({ requestId: 'req_c', status: 404, code: 'contact_not_found', field: null, count: 3 }),
    )
    const path = (await attributesOf(await see('?code=invalid_field'), '.list-foot .hint a', 'href'))[0] ?? ''
    expect(path).toBe(pages.at('requests/export?code=invalid_field'))
    const line = (...cells: string[]) => `2026-05-03T12:00:00.000Z,${cells.join(',')}\r\n`
    const columns = 'time,status,code,field,method,path,tool,caller,app,count,requestId\r\n'
    const one = line('400', 'invalid_field', "'=1+1", 'POST,/api/v1/events', '', 'First key', app.name, '1', 'req_a')
    expect((await browser.get(path)).html).toBe(columns + one)
    const { html, headers } = await browser.get(pages.at('requests/export'))
    expect(html).toBe(
      columns +
        line('404', 'contact_not_found', '', 'POST,/api/v1/events', '', 'First key', app.name, '3', 'req_c') +
        one,
    )
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="requests-[a-z-]+-2026-05-03\.csv"$/)
  })

  test('exports more than are read at once, each once', async () => {
    await add(...Array.from({ length: 501 }, () => request()))
    const { html } = await browser.get(pages.at('requests/export'))
    const ids = html
      .trim()
      .split('\r\n')
      .slice(1)
      .map((one) => one.split(',').at(-1))
    expect([ids.length, new Set(ids).size]).toEqual([501, 501])
  })

  test('lists refused ones, newest first, each with its time, outcome, cause, request and key', async () => {
    await add(
      request({ requestId: 'req_a' }),
      request({
        requestId: 'req_b',
        path: '/mcp',
        tool: 'get_contact',
        code: 'contact_not_found',
        status: 404,
        field: null,
      }),
      request({ requestId: 'req_c', count: 12, at: pages.clock.ms + 1_000 }),
      request({ requestId: 'req_d', pool: 'accepted', code: null, field: null, status: 202 }),
    )
    const html = await see()
    expect(await rowsOf(html)).toEqual([
      '3 May 12:00:01400invalid_field×12email: A field is missing or invalid.POST /api/v1/eventsFirst key',
      '3 May 12:00:00404contact_not_foundThis app has no person with this email.POST /mcp get_contactFirst key',
      '3 May 12:00:00400invalid_fieldemail: A field is missing or invalid.POST /api/v1/eventsFirst key',
    ])
    expect(await leadOf(html)).toBe('14 refused requests in the log.')
    expect(await rowsOf(await see('?kind=accepted'))).toEqual(['3 May 12:00:00202AcceptedPOST /api/v1/eventsFirst key'])
    expect(await leadOf(await see('?kind=accepted'))).toBe(
      '1 accepted request in the log. Accepted requests are sampled: one per second per key, or per app if there is no key.',
    )
    expect(await rowsOf(await see('?kind=all'))).toHaveLength(4)
    expect(await attributesOf(html, '.feed .what', 'href')).toEqual(
      ['c', 'b', 'a'].map((name) => pages.at(`requests/req_${name}`)),
    )
  })

  test('filters by code, field, status, key, app and days, and names each filter with a link without it', async () => {
    const { keyId: other } = await makeKey()
    await add(
      request({ requestId: 'req_1a', caller: other }),
      request({ requestId: 'req_1b', status: 404, code: 'app_not_found', field: null, appId: null }),
      request({ requestId: 'req_1c', at: pages.clock.ms - 3 * 86_400_000 }),
    )
    const idsOf = async (query: string) => listIds(await see(query))
    expect(await idsOf(`?key=${other}`)).toEqual(['req_1a'])
    expect(await idsOf('?code=app_not_found')).toEqual(['req_1b'])
    expect(await idsOf('?status=400')).toEqual(['req_1c', 'req_1a'])
    expect(await idsOf('?app=none')).toEqual(['req_1b'])
    expect(await idsOf('?field=email')).toEqual(['req_1c', 'req_1a'])
    expect(await idsOf(`?app=${app.publicId}&from=2026-05-03`)).toEqual(['req_1a'])
    expect(await idsOf('?to=2026-05-02')).toEqual(['req_1c'])
    expect(await idsOf('?app=app_other')).toEqual([])
    const html = await see(`?kind=all&status=400&key=${other}`)
    expect(await textOf(html, '.chip')).toEqual(['Remove the filter Status: 400', 'Remove the filter Key: Another'])
    expect(await attributesOf(html, '.chip', 'href')).toEqual([
      pages.at(`requests?kind=all&key=${other}`),
      pages.at('requests?kind=all&status=400'),
    ])
    expect(await leadOf(html)).toStartWith('1 request matches the filters.')
    expect(await leadOf(await see('?code=too_large'))).toBe('No refused requests match the filters.')
    expect(await textOf(await see('?code=too_large'), '.empty h2')).toEqual(['No requests match'])
    const reversed = await browser.get(pages.at('requests?from=2026-05-04&to=2026-05-03'))
    expect([reversed.status, await textOf(reversed.html, '.notice.error')]).toEqual([
      400,
      ['Error: The first day is after the last.'],
    ])
  })

  test('no filter is required, which would keep others from being sent', async () => {
    const html = await see()
    expect(await attributesOf(html, '.finder input[name=field]', 'required')).toEqual([null])
    expect(await attributesOf(html, '.finder [required]', 'name')).toEqual([])
  })

  test("Overview counts and lists the requests since the day before in the app's timezone", async () => {
    await recordEvent(pages, app, { email: 'bob@example.com', name: 'signed_up' })
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    // 00:00 on 4 May there
    await pages.store.setMailSettings({ ...by, settings: { timezone: 'Pacific/Auckland' } })
    const begin = Date.UTC(2026, 4, 2, 12)
    await add(request({ requestId: 'req_2a', at: begin - 1 }), request({ requestId: 'req_2b', at: begin }))
    const { html } = await browser.get(pages.at('overview'))
    expect((await textOf(html, '.attention')).join()).toContain('1 request has been refused since yesterday')
    const links = await attributesOf(html, '.attention a', 'href')
    const link = links.find((href) => href?.includes('/requests')) ?? ''
    const listed = await browser.get(link.replaceAll('&amp;', '&'))
    expect(await listIds(listed.html)).toEqual(['req_2b'])
  })

  test('Overview and Activation link to the requests that they count, without those of other apps', async () => {
    await recordEvent(pages, app, { email: 'bob@example.com', name: 'signed_up' })
    await add(
      request({ requestId: 'req_2a' }),
      request({ requestId: 'req_2b', appId: null, code: 'invalid_json', field: null }),
      request({ requestId: 'req_2c', appId: app.id + 1 }),
      request({ requestId: 'req_2d', field: 'event' }),
    )
    const overview = (await browser.get(pages.at('overview'))).html
    expect((await textOf(overview, '.attention')).join()).toContain(
      '3 requests have been refused since yesterday, 2 with invalid_field and 1 with invalid_json.',
    )
    const linksOf = async (page: string, html: string, selector: string) => {
      const found = await attributesOf(html, selector, 'href')
      expect([page, found.length]).not.toEqual([page, 0])
      return Promise.all(found.map(async (href) => listIds((await browser.get(href ?? '')).html)))
    }
    expect(await linksOf('overview', overview, '.attention a')).toContainEqual(['req_2d', 'req_2b', 'req_2a'])
    const activation = (await browser.get(pages.at('activation'))).html
    expect(await linksOf('activation', activation, '.all-refused a')).toEqual([['req_2d', 'req_2b', 'req_2a']])
    expect(await linksOf('activation', activation, '.troubles .with-badge a')).toEqual([
      ['req_2d'],
      ['req_2b'],
      ['req_2a'],
    ])
  })

  const makeKey = async () => {
    const by = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    const made = await createKey(by, app.accountId, { name: 'Another', scope: 'standard' })
    if ('refusal' in made) throw new Error(made.refusal)
    return made
  }

  test('has pages of 35', async () => {
    await add(...Array.from({ length: 80 }, (_, index) => request({ requestId: `req_p${index}` })))
    const seen: string[] = []
    let html = await see()
    for (const size of [35, 35, 10]) {
      const ids = await listIds(html)
      expect(ids).toHaveLength(size)
      seen.push(...ids)
      const [older] = await attributesOf(html, '.pager [rel=next]', 'href')
      expect(older === undefined).toBe(size === 10)
      if (older) html = (await browser.get(older)).html
    }
    expect(seen).toEqual(Array.from({ length: 80 }, (_, index) => `req_p${79 - index}`))
    expect(await attributesOf(html, '.feed', 'data-feed')).toEqual([null])
  })

  test('finds a request by its ID', async () => {
    await add(request({ requestId: 'req_wanted' }))
    const { status, location } = await browser.get(pages.at('requests?id=%20req_wanted%20'))
    expect([status, location]).toEqual([303, pages.at('requests/req_wanted')])
    const html = await see(`?id=${encodeURIComponent(HOSTILE)}`)
    expect((await textOf(html, '.notice'))[0]).toContain('No request in the log has the ID')
    await expectHarmless(html)
  })

  test('counts up to 10,000', async () => {
    for (let part = 0; part < 11; part++) await add(...Array.from({ length: 1_000 }, () => request()))
    expect(await leadOf(await see())).toBe('10,000+ refused requests in the log.')
  })

  test('says what appears here when there is nothing', async () => {
    expect(await textOf(await see(), '.empty h2')).toEqual(['No refused requests'])
    expect(await textOf(await see('?kind=all'), '.empty h2')).toEqual(['No requests yet'])
    expect(await textOf(await see('?before=1'), '.empty h2')).toEqual(['Nothing older'])
  })
})

describe('a request', () => {
  test('says what its error means and what to do', async () => {
    await add(request({ requestId: 'req_x1' }), stranger({ requestId: 'req_x2' }))
    const { html } = await browser.get(pages.at('requests/req_x1'))
    expect(await leadOf(html)).toBe('POST /api/v1/events, just now, with the key “First key”.')
    expect(await textOf(html, 'main section p')).toEqual([
      'A field is missing or invalid. Field: email.',
      'Send one complete email address, such as ada@example.com, without a name, brackets or quotes. Use only ASCII characters before the @, such as letters without accents.',
      "Values, bodies and keys aren't stored.",
    ])
    expect(await attributesOf(html, '.buttons a', 'href')).toEqual([
      pages.at(`requests?code=invalid_field&app=${app.publicId}`),
      '/docs/errors',
    ])
    const { html: wrongKey } = await browser.get(pages.at('requests/req_x2'))
    expect(wrongKey).toContain('Unknown key')
    expect(wrongKey).toContain('Unknown: the key was refused first')
    expect((await attributesOf(wrongKey, '.buttons a', 'href'))[0]).toBe(pages.at('keys'))
  })

  test.each(['zoë@example.com', 'zoe'])(
    'with the email %s has a page with the words of its response',
    async (email) => {
      const server = await createTestServer()
      const event = { app: server.first.appId, email, event: 'signed_up' }
      const { body } = await server.call('POST', EVENTS, { body: event })
      const { requests, store } = server.parts()
      await requests.save()
      const query = {
        ...toFilter(readView(new URLSearchParams()), { appIds: null, zone: 'UTC' }),
        before: null,
        after: 0,
      }
      const [row] = await store.listRequests({ ...query, accountIds: [server.first.accountId], limit: 1 })
      await server.close()
      await add(request({ requestId: 'req_m1', code: row?.code ?? null, field: row?.field ?? null }))
      const { html } = await browser.get(pages.at('requests/req_m1'))
      const said = (body as { message: string }).message
      expect((await textOf(html, 'main section p'))[1]).toContain(said)
      expect(said).toStartWith(email === 'zoe' ? 'Send one complete email address' : 'Use only ASCII characters')
    },
  )

  test.each([
    ['app', 'Send the app ID from the Activation page as `app`.'],
    ['newsletter', 'Send the app ID from the Activation page as `newsletter`.'],
    ['app, email', 'Send the app ID from the Activation page as `app`. Send one complete email address'],
    ['event', 'Send the name of the event, such as `results_ready`. Send 1 to 64 characters'],
    ['email, properties', 'Correct the field that the error names.'],
    ['source', 'Correct the field that the error names.'],
    ['constructor', 'Correct the field that the error names.'],
    [null, 'Correct the field that the error names.'],
  ])('says what its response said about %s', async (field, fix) => {
    await add(request({ requestId: 'req_f1', field }), request({ requestId: 'req_f2', field, tool: 'record_event' }))
    const fixOf = async (id: string) =>
      (await textOf((await browser.get(pages.at(`requests/${id}`))).html, 'main section p'))[1]
    expect(await fixOf('req_f1')).toStartWith(fix.replaceAll('`', ''))
    expect(await fixOf('req_f2')).toBe('Correct the field that the error names.')
  })

  test.each([
    ['no_key', 'The request had no Authorization header.'],
    ['unknown_key', 'The Authorization header has no valid API key.'],
    ['key_revoked', 'This API key was revoked.'],
  ])('says what was wrong with the key, and what its response said: %s', async (caller, meaning) => {
    await add(stranger({ requestId: 'req_k1', caller, accountId: app.accountId }))
    const { html } = await browser.get(pages.at('requests/req_k1'))
    expect((await textOf(html, 'main section p')).slice(0, 2)).toEqual([meaning, KEY_HINT.replaceAll('`', '')])
  })

  test('has no app if none was sent or read', async () => {
    await add(
      request({ requestId: 'req_a1', appId: null, code: 'app_not_found', status: 404 }),
      request({ requestId: 'req_a2', appId: null, code: null, field: null, status: 200, pool: 'accepted' }),
      request({ requestId: 'req_a3', appId: null, field: 'app, email' }),
      request({ requestId: 'req_a4', appId: null, field: 'site' }),
      request({ requestId: 'req_a5', appId: null, field: 'limit' }),
      request({ requestId: 'req_a6', appId: null, field: null, code: 'method_not_allowed', status: 405 }),
    )
    const appIn = async (id: string) =>
      (await textOf((await browser.get(pages.at(`requests/${id}`))).html, 'aside dd')).at(-1)
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map((number) => appIn(`req_a${number}`)))).toEqual([
      'Not found',
      'None specified',
      'Missing or invalid',
      'Missing or invalid',
      'Unknown: the request was refused before its app was read',
      'Unknown: the request was refused before its app was read',
    ])
    const { html } = await browser.get(pages.at('requests?app=none'))
    expect((await textOf(html, 'select[name=app] option')).slice(-2)).toEqual([
      'No known app',
      `${app.name} or no known app`,
    ])
  })

  test('links to the page where its cause is fixed', async () => {
    const signature = { status: 401, code: 'invalid_signature', field: null }
    const origin = { status: 403, code: 'origin_not_allowed', field: null }
    const page = { caller: 'browser', path: '/c' }
    await add(
      request({ requestId: 'req_s1', ...page, ...signature }),
      request({ requestId: 'req_s2', caller: 'bounces', path: '/hooks/:provider/:app', ...signature }),
      request({ requestId: 'req_o1', ...page, ...origin }),
      request({ requestId: 'req_o2', path: '/mcp', ...origin }),
    )
    const linksOf = async (id: string) => {
      const { html } = await browser.get(pages.at(`requests/${id}`))
      return (await attributesOf(html, '.buttons a.primary', 'href')).map(String)
    }
    expect(await linksOf('req_s1')).toEqual([pages.at('activation#check')])
    expect(await linksOf('req_s2')).toEqual([pages.at('sender/server')])
    expect(await linksOf('req_o1')).toEqual([pages.at('settings')])
    expect(await linksOf('req_o2')).toEqual([])
    const { html: ofWebhook } = await browser.get(pages.at('requests/req_s2'))
    expect(ofWebhook).toContain('Bounce report or webhook')
  })

  test('of a batch has each of its refusals', async () => {
    await add(
      request({ requestId: 'req_batch' }),
      request({ requestId: 'req_batch', code: 'rate_limited', status: 429, field: null }),
    )
    const { html } = await browser.get(pages.at('requests/req_batch'))
    expect(await textOf(html, '.refusal')).toEqual(['400 invalid_field', '429 rate_limited'])
  })

  test('that is unknown is a 404', async () => {
    for (const id of ['req_none', HOSTILE.replaceAll('/', ''), '%00']) {
      const { status, html } = await browser.get(pages.at(`requests/${encodeURIComponent(id)}`))
      expect(status).toBe(404)
      await expectHarmless(html)
    }
  })
})

describe('accounts', () => {
  test('members see requests of their account only, and strangers’ while it is the only one', async () => {
    await add(request({ requestId: 'req_own' }), stranger({ requestId: 'req_stranger' }))
    expect(await listIds(await see())).toEqual(['req_stranger', 'req_own'])
    expect((await rowsOf(await see()))[0]).toContain('Unknown key')
    const other = await pages.addAccount('eve@example.com', 'Other')
    expect(await listIds(await see())).toEqual(['req_own'])
    expect((await browser.get(pages.at('requests/req_stranger'))).status).toBe(404)
    expect((await browser.get(pages.at('requests?id=req_stranger'))).status).toBe(200)
    const eve = await pages.signedIn('eve@example.com')
    for (const path of ['requests', 'requests/req_own', 'requests-live'])
      expect((await eve.get(pages.at(path))).status).toBe(404)
    const own = `/apps/${other.appId}/requests`
    for (const path of [own, `${own}?kind=all`]) expect(await listIds((await eve.get(path)).html)).toEqual([])
    expect((await eve.get(`${own}/req_own`)).status).toBe(404)
    expect((await eve.get(`${own}?app=${app.publicId}`)).status).toBe(200)
    await pages.addMember('vera@example.com', 'viewer')
    const vera = await pages.signedIn('vera@example.com')
    expect((await vera.get(pages.at('requests/req_own'))).status).toBe(200)
    const { status, location } = await createBrowser(pages).get(pages.at('requests'))
    expect([status, location?.startsWith('/sign-in')]).toEqual([303, true])
  })
})

describe('the open page', () => {
  const follow = (query: string) => openLive(pages, browser, pages.at(`requests-live?${query}`))

  test('gets new requests that match, and the count', async () => {
    await add(request({ requestId: 'req_before' }))
    const [cursor] = await attributesOf(await see('?status=401'), '.feed', 'data-cursor')
    expect(cursor).toBe('0')
    const { read, leave } = await follow(`status=401&after=${cursor}`)
    await add(request(), stranger({ requestId: 'req_live' }))
    const rows = await read<{ html: string; count: number; cursor: string }>('rows')
    expect([await listIds(rows.html), rows.count]).toEqual([['req_live'], 1])
    expect(await attributesOf(rows.html, 'li', 'data-id')).toEqual([rows.cursor])
    expect(await read<object>('counts')).toEqual({ state: '1 refused request matches the filters.', chart: '' })
    await leave()
  })

  test('of Activation shows a wrong key as soon as it is saved', async () => {
    const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await pages.handle(pages.at('activation/live'), { headers: { Cookie: cookie } })
    const reader = response.body?.getReader()
    let text = ''
    await add(stranger())
    while (!text.includes('invalid_api_key')) text += new TextDecoder().decode((await reader?.read())?.value)
    expect(text).toContain('The API key is missing, wrong or revoked.')
    await reader?.cancel()
  })
})
