import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { readScript, readStub } from '../../../src/assets.ts'
import { createSetupToken } from '../../../src/accounts/accounts.ts'
import { makeSnippetPolicy, makeSnippetTag } from '../../../src/visits/snippet-tag.ts'
import { saveSnippet } from '../../api/reports.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, BASE, expectHarmless, HOSTILE, openPages, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const WAITING = 'Waiting for the first event...'
const leadOf = async (html: string) => (await textOf(html, '.lead'))[0]
const KEY = /mc_[0-9A-Za-z]{36}/

describe('after set-up', () => {
  const setUp = async (fields: Record<string, string> = {}) => {
    const fresh = await openPages()
    const browser = createBrowser(fresh)
    const token = await createSetupToken({ store: fresh.store, now: fresh.clock.now() })
    const form = { email: 'grace@example.com', password: PASSWORD, app: 'Compiler', domain: 'app.example.com' }
    return { fresh, browser, seen: await browser.post('/setup', { token, ...form, ...fields }) }
  }

  test('the page shows the four values and the environment, and the key works', async () => {
    const { fresh, seen } = await setUp({ email: ' Grace@Example.com ' })
    expect([seen.status, await textOf(seen.html, 'h1')]).toEqual([200, ['Activation']])
    const [apiKey = '', identitySecret, appId, siteId] = await textOf(seen.html, 'dd code')
    const access = await fresh.access.find(apiKey)
    expect(access?.apps).toMatchObject([{ publicId: appId, siteId, name: 'Compiler', hosts: ['app.example.com'] }])
    expect(access?.apps[0]?.homeUrl).toBe('https://app.example.com')
    const environment = `export SERVICE_API_KEY=${apiKey}\nexport SERVICE_IDENTITY_SECRET=${identitySecret}`
    expect(await textOf(seen.html, '#environment')).toEqual([environment])
    expect(seen.html).not.toContain(PASSWORD)
    expect(await textOf(seen.html, 'main .primary')).toEqual(['I have stored them'])
    expect(await attributesOf(seen.html, 'main form', 'action')).toEqual([])
    await fresh.close()
  })

  test('says what the key may do, and where to create others', async () => {
    const { fresh, browser, seen } = await setUp()
    expect(await textOf(seen.html, 'main .section-head .hint')).toContain(
      'The key is for people, events and emails. Create others under API keys.',
    )
    const { html } = await browser.get((await browser.get('/')).location ?? '')
    expect(await textOf(html, 'main .hint')).toContain(
      'A key created here reads and writes people and events, and sends emails. Create keys with other scopes under API keys.',
    )
    expect((await attributesOf(html, 'main .hint a', 'href'))[0]).toEndWith('/keys')
    const access = await fresh.access.find((await textOf(seen.html, 'dd code'))[0] ?? '')
    expect(access?.key.scope).toBe('standard')
    await fresh.close()
  })

  test('signs in, and does not show the key again', async () => {
    const { fresh, browser, seen } = await setUp()
    expect(seen.html).toMatch(KEY)
    const { location } = await browser.get('/')
    const again = await browser.get(location ?? '')
    expect([again.status, KEY.test(again.html)]).toEqual([200, false])
    expect(await textOf(again.html, '#menu .foot a')).toEqual(['Documentation', 'grace@example.com'])
    await fresh.close()
  })

  test('hostile names are text', async () => {
    const { fresh, browser, seen } = await setUp({ app: HOSTILE })
    await expectHarmless(seen.html)
    const { html } = await browser.get((await browser.get('/')).location ?? '')
    await expectHarmless(html)
    expect(await textOf(html, 'aside h2')).toEqual(['Checklist', 'Refused requests', HOSTILE, 'Try it'])
    await fresh.close()
  })
})

describe('the page', () => {
  test('waits for the first event, and shows the IDs to copy', async () => {
    const { html } = await (await pages.signedIn()).get(pages.at('activation'))
    expect(await leadOf(html)).toBe(WAITING)
    expect(await textOf(html, 'aside dd code')).toEqual([pages.begun.appId, pages.begun.siteId])
    expect(await attributesOf(html, 'aside dd button', 'data-copy')).toEqual(['app-id', 'site-id'])
    expect(html).not.toMatch(KEY)
  })

  test('has the code of every language, filled in', async () => {
    const { html } = await (await pages.signedIn()).get(pages.at('activation'))
    const names = await textOf(html, '.tabs label')
    const forms = ['Plain', 'With consent', 'Pinned (SRI)']
    expect(names).toEqual(['curl', 'Node', 'Bun', 'Python', 'PHP', 'Ruby', 'Go', 'Next.js', ...forms])
    const [curl] = await textOf(html, '#code-curl-0')
    expect(curl).toContain(`"app": "${pages.begun.appId}"`)
    expect(curl).toContain("'http://localhost:8080/api/v1/events'")
    expect(await attributesOf(html, '.tabs input[checked]', 'id')).toEqual(['code-curl', 'tag-plain'])
  })

  test('shows when the newest event arrived', async () => {
    const browser = await pages.signedIn()
    await browser.post(`${pages.at('activation')}/test`)
    pages.clock.ms += 5 * MINUTE
    const { html } = await browser.get(pages.at('activation'))
    expect(await leadOf(html)).toBe('Events are arriving. Last event 5 minutes ago.')
    expect(await attributesOf(html, '.lead a', 'href')).toEqual([pages.at('events')])
  })
})

describe('the tag', () => {
  test('has three forms, with the sources for a policy', async () => {
    const { html } = await (await pages.signedIn()).get(pages.at('activation'))
    const [plain = '', consent = '', pinned = ''] = await textOf(html, '[id^=tag-][id$="-0"]')
    const source = { baseUrl: BASE, siteId: pages.begun.siteId, stub: readStub() }
    expect(plain).toBe(makeSnippetTag(source))
    expect(consent).toBe(makeSnippetTag({ ...source, requiresConsent: true }))
    expect(pinned).toBe(makeSnippetTag({ ...source, pinned: readScript().identity }))
    expect(pinned).toMatch(/ src="http:\/\/localhost:8080\/s\.[0-9a-f]{16}\.js" .* integrity="sha384-/)
    expect(await textOf(html, '#policy')).toEqual([makeSnippetPolicy(source)])
    expect(await textOf(html, '#tag-consent-1')).toEqual([expect.stringContaining("service('consent', true)")])
    // the pinned form has its own notes
    expect(await textOf(html, '.panel .hint')).toEqual([expect.stringMatching(/^Pins one build\./)])
    const positions = ['id="tag-consent-2"', 'Pins one build', 'id="tag-pinned-0"'].map((text) => html.indexOf(text))
    expect(positions).toEqual(positions.filter((place) => place > 0).toSorted((a, b) => a - b))
  })

  test('says whose views are stored, and where to change it', async () => {
    const { html } = await (await pages.signedIn()).get(pages.at('activation'))
    expect(await textOf(html, 'section p')).toContain(
      'Only page views of known people are stored. Your server can add others with createContact, and the browser script can if you allow it in Settings.',
    )
    expect(await attributesOf(html, '#tag p a', 'href')).toEqual([pages.at('settings')])
    const [app] = await pages.store.listApps(pages.begun.accountId)
    if (!app) throw new Error('there is no app')
    await saveSnippet(pages, app, { hosts: [], addsPeople: true })
    const { html: now } = await (await pages.signedIn()).get(pages.at('activation'))
    const sentences = await textOf(now, 'section p')
    expect(sentences).toContain(
      "The browser script adds people this app doesn't know. You can change this in Settings.",
    )
    expect(sentences.filter((one) => one.startsWith('Only page views of'))).toEqual([])
  })
})

describe('the test event', () => {
  const eventsOf = async () => {
    const access = await pages.access.find(pages.begun.apiKey)
    const appId = access?.apps[0]?.id ?? 0
    return (await pages.store.listEvents({ appId, contactId: null, name: null, before: null, limit: 10 })).rows
  }

  test('is about the member, and a reload does not repeat it', async () => {
    const browser = await pages.signedIn()
    const { status, location } = await browser.post(`${pages.at('activation')}/test`)
    expect([status, location]).toEqual([303, pages.at('activation')])
    const { html } = await browser.get(location ?? '')
    expect((await textOf(html, '[role=status]'))[0]).toStartWith('Done: The test event was recorded.')
    expect(await eventsOf()).toMatchObject([{ email: 'ada@example.com', name: '$test', via: 'api' }])
  })

  test('is refused from viewers and other sites', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const viewer = await pages.signedIn('eve@example.com')
    expect((await viewer.get(pages.at('activation'))).html).not.toContain('Send a test event')
    expect((await viewer.post(`${pages.at('activation')}/test`)).status).toBe(403)
    const owner = await pages.signedIn()
    expect((await owner.post(`${pages.at('activation')}/test`, {}, { Origin: 'https://evil.example' })).status).toBe(
      403,
    )
    expect(await eventsOf()).toEqual([])
  })

  test('says when it cannot be saved', async () => {
    const failing = spyOn(pages.store, 'recordEvent').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await (await pages.signedIn()).post(`${pages.at('activation')}/test`)
    failing.mockRestore()
    expect(status).toBe(503)
    expect((await textOf(html, '[role=alert]'))[0]).toStartWith("Error: Eventpost can't save right now")
  })
})

describe('a key made here', () => {
  const formOf = async (browser: Awaited<ReturnType<AccountPages['signedIn']>>) => {
    const { html } = await browser.get(pages.at('activation'))
    const [form] = await attributesOf(html, '[name=form]', 'value')
    return { form: form ?? '', name: 'Server', scope: 'standard' }
  }

  test('is shown once with the identity secret, and a reload makes no second one', async () => {
    const browser = await pages.signedIn()
    const fields = await formOf(browser)
    const { status, html } = await browser.post(`${pages.at('activation')}/key`, fields)
    expect(status).toBe(200)
    const [apiKey = '', identitySecret] = await textOf(html, '.secret dd code')
    expect(identitySecret).toBe(pages.begun.identitySecret)
    expect((await pages.access.find(apiKey))?.key).toMatchObject({ name: 'Server', scope: 'standard' })
    const again = await browser.post(`${pages.at('activation')}/key`, fields)
    expect([again.status, await textOf(again.html, 'h1')]).toEqual([409, ['Already done']])
    expect(await textOf(again.html, '.lead')).toEqual(['The key was already created and is shown only once.'])
    expect(again.html).toContain(`<a href="${pages.at('keys')}">Back to API keys</a>`)
    expect(await pages.store.listKeys(pages.begun.accountId)).toHaveLength(2)
  })

  test('asks for the password after 10 minutes', async () => {
    const browser = await pages.signedIn()
    const fields = await formOf(browser)
    pages.clock.ms += 10 * MINUTE
    const asked = await browser.post(`${pages.at('activation')}/key`, fields)
    expect([asked.status, await textOf(asked.html, 'h1')]).toEqual([200, ['Confirm your password']])
    expect(asked.html).not.toContain(pages.begun.identitySecret)
    expect(await textOf(asked.html, '.lead')).toEqual([
      'You are about to create an API key. You last entered your password more than 10 minutes ago.',
    ])
    expect(await attributesOf(asked.html, 'main form a', 'href')).toEqual([pages.at('activation')])
    const made = await browser.post(`${pages.at('activation')}/key`, { ...fields, confirmPassword: PASSWORD })
    expect(made.html).toMatch(KEY)
  })

  test('is made by owners only', async () => {
    await pages.addMember('eve@example.com', 'editor')
    const editor = await pages.signedIn('eve@example.com')
    const shown = (await editor.get(pages.at('activation'))).html
    expect(shown).not.toContain('Create another key')
    expect(shown).toContain(
      'Lost it? Ask an owner of the account to create another key; the identity secret is shown with it.',
    )
    const { status, html } = await editor.post(`${pages.at('activation')}/key`, { name: 'x', scope: 'standard' })
    expect([status, html.includes(pages.begun.identitySecret)]).toEqual([403, false])
  })
})
