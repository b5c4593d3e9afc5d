import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { createDashboard } from '../../../src/dashboard/index.ts'
import { createDocHtml, fillDocHtml } from '../../../src/dashboard/docs/doc-html.tsx'
import { createApiPages } from '../../../src/docs/api-pages.ts'
import { DOC_PAGES } from '../../../src/docs/index.ts'
import type { DocPage } from '../../../src/docs/page.ts'
import { createBrowser, openAccount } from '../browser.ts'
import { attributesOf, BASE, HOSTILE, openApiOf, textOf } from '../pages.ts'

type Account = Awaited<ReturnType<typeof openAccount>>

let pages: Account
let all: DocPage[]
beforeAll(async () => {
  pages = await openAccount({ appName: HOSTILE })
  all = [...DOC_PAGES, ...createApiPages(openApiOf(pages.parts)())]
})
afterAll(() => pages.close())

const get = (path: string) => createBrowser(pages).get(path)

test('/docs redirects to the first page', async () => {
  for (const path of ['/docs', '/docs/']) {
    const { status, location } = await get(path)
    expect([path, status, location]).toEqual([path, 303, '/docs/start'])
  }
  expect((await get('/docs/api/')).status).toBe(200)
})

test('an unknown page leads back to the documentation', async () => {
  for (const path of ['/docs/nope', '/docs/api/nope']) {
    const { status, html } = await get(path)
    expect([status, await textOf(html, '.lead')]).toEqual([404, ['The documentation has no page at this address.']])
    expect(await attributesOf(html, 'main a', 'href')).toEqual(['/docs'])
  }
})

test('each page has a title, a summary, its Markdown, and links to all pages', async () => {
  for (const page of all) {
    const { status, html, headers } = await get(`/docs/${page.slug}`)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self'")
    expect(await textOf(html, 'h1')).toEqual([page.title])
    expect((await textOf(html, '.lead'))[0]).toBe(page.summary)
    const links = await attributesOf(html, '.docs-links a.item', 'href')
    expect(links).toEqual(all.map(({ slug }) => `/docs/${slug}`))
    expect(await attributesOf(html, '.docs-links [aria-current=page]', 'href')).toEqual([`/docs/${page.slug}`])
    expect(await attributesOf(html, '.docs-markdown', 'href')).toEqual([`/docs/${page.slug}.md`])
    expect(html).not.toMatch(/\{base_url\}|\{samples:|style="|onclick|undefined/)
  }
})

test('long files are folded', async () => {
  const { html } = await get('/docs/orchestration')
  expect(await textOf(html, '.docs > details > summary')).toEqual([
    expect.stringMatching(/^compose\.yaml, \d+ lines$/),
    expect.stringMatching(/^kubernetes\.yaml, \d+ lines$/),
  ])
  const { html: install } = await get('/docs/install')
  expect([install.includes('eventpost.service'), install.includes('<details>')]).toEqual([true, false])
})

test('names and short commands in text stay on one line, and every code block names its language', async () => {
  const { html } = await get('/docs/scale-out')
  expect(html).toContain('With <code class="unbroken">EVENTPOST_DATABASE_URL</code>')
  expect(html).toContain('<code>EVENTPOST_DATABASE_URL=... eventpost key list</code>')
  const { html: long } = await get('/docs/postgresql')
  expect(long).toContain('<code>EVENTPOST_<wbr>DATABASE_<wbr>POOLER=<wbr>transaction</code>')
  const { html: settings } = await get('/docs/settings')
  expect(settings).toContain('<code>EVENTPOST_<wbr>DATABASE_<wbr>URL</code>')
  for (const [slug, label] of [
    ['postgresql', 'SQL'],
    ['replication', 'YAML'],
    ['backups', 'INI'],
    ['layout', 'HTML'],
  ] as const)
    expect([slug, await textOf((await get(`/docs/${slug}`)).html, '.code > figcaption > :first-child')]).toEqual([
      slug,
      expect.arrayContaining([label]),
    ])
})

test('each page is at most 40 KB, compressed', async () => {
  for (const { slug } of all) {
    const response = await pages.handle(`/docs/${slug}`, { headers: { 'Accept-Encoding': 'gzip, br' } })
    expect([slug, response.headers.get('content-encoding')]).toEqual([slug, 'gzip'])
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect([slug, bytes.byteLength < 40_000]).toEqual([slug, true])
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe((await get(`/docs/${slug}`)).html)
  }
})

test.each(['br', 'gzip;q=0', 'gzip; q=0.000, br'])('a page is not compressed for who accepts %p', async (accepted) => {
  const response = await pages.handle('/docs/start', { headers: { 'Accept-Encoding': accepted } })
  expect(response.headers.get('content-encoding')).toBe(null)
})

test('all links lead to a page, and anchors to a heading', async () => {
  const links = new Map<string, Set<string>>()
  for (const page of all) {
    const { html } = await get(`/docs/${page.slug}`)
    for (const href of await attributesOf(html, 'article a', 'href')) {
      const { pathname, hash, origin } = new URL(href ?? '', `http://own.invalid/docs/${page.slug}`)
      if (origin !== 'http://own.invalid' || pathname.startsWith('/api/')) continue
      links.set(pathname, (links.get(pathname) ?? new Set()).add(hash))
    }
  }
  expect(links.size).toBeGreaterThan(all.length)
  for (const [path, hashes] of links) {
    const { status, html } = await get(path)
    expect([path, [200, 303].includes(status)]).toEqual([path, true])
    for (const hash of hashes) {
      if (hash !== '') expect([path, hash, html.includes(`id="${hash.slice(1)}"`)]).toEqual([path, hash, true])
    }
  }
})

test('IDs are unique on a page', async () => {
  for (const page of all) {
    const ids = await attributesOf((await get(`/docs/${page.slug}`)).html, '[id]', 'id')
    expect([page.slug, ids.filter((id, place) => ids.indexOf(id) !== place)]).toEqual([page.slug, []])
  }
})

test('the sidebar lists the headings of the current page', async () => {
  const { html } = await get('/docs/events')
  const headings = await attributesOf(html, '.docs > h2', 'id')
  expect(await attributesOf(html, '.docs-headings a', 'href')).toEqual(headings.map((id) => `#${id}`))
  expect(headings).toEqual(['record-an-event', 'warnings'])
})

test('every code sample can be copied, and those in several languages have tabs', async () => {
  for (const page of all) {
    const { html } = await get(`/docs/${page.slug}`)
    const codes = await attributesOf(html, '.docs pre', 'id')
    expect([page.slug, await attributesOf(html, '.docs [data-copy]', 'data-copy')]).toEqual([page.slug, codes])
  }
  const { html } = await get('/docs/start')
  const tabs = await textOf(html, '[data-languages] label')
  expect(tabs.slice(0, 8)).toEqual(['curl', 'Node', 'Bun', 'Python', 'PHP', 'Ruby', 'Go', 'Next.js'])
  expect(new Set(await attributesOf(html, '[data-languages] input', 'type'))).toEqual(new Set(['radio']))
})

describe('a chosen language', () => {
  const selected = async (html: string) => new Set(await attributesOf(html, '[data-languages] [checked]', 'value'))

  test('is remembered, also on Activation', async () => {
    const browser = await pages.signedIn()
    expect(await selected((await browser.get('/docs/start')).html)).toEqual(new Set(['curl']))
    const { status } = await browser.post('/language', { language: 'python' })
    expect(status).toBe(204)
    expect(await selected((await browser.get('/docs/start')).html)).toEqual(new Set(['python']))
    expect(await selected((await browser.get(pages.at('activation'))).html)).toEqual(new Set(['python']))
  })

  test('is one of those shown', async () => {
    const browser = createBrowser(pages)
    const { headers } = await browser.post('/language', { language: '"; x=' })
    expect(headers.getSetCookie()).toEqual([])
    expect((await browser.post('/language', { language: 'go' }, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    browser.cookies.set('eventpost_language', 'cobol')
    expect(await selected((await browser.get('/docs/start')).html)).toEqual(new Set(['curl']))
  })
})

describe('signed out', () => {
  test('samples have placeholders, and the frame a link to sign in', async () => {
    const { html } = await get('/docs/start')
    expect(html).toContain('APP_ID')
    expect(html).toContain('href="/sign-in"')
    expect(html).not.toContain('action="/sign-out"')
  })
})

describe('signed in', () => {
  test("samples have the app's IDs and name the key, and the frame is the app's", async () => {
    const browser = await pages.signedIn()
    const [key] = await pages.store.listKeys(pages.begun.accountId)
    const app = await pages.store.findAppByPublicId(pages.begun.appId)
    for (const path of ['start', 'api/post-events', 'snippet']) {
      const { html } = await browser.get(`/docs/${path}`)
      expect(html).not.toMatch(/APP_ID|SITE_ID/)
      expect(html).toContain(path === 'snippet' ? (app?.siteId ?? '?') : pages.begun.appId)
      // the browser script needs no key
      const said = path === 'snippet' ? 'Samples use the IDs' : `your key “${key?.name}”`
      expect((await textOf(html, '.docs-reader'))[0]).toContain(said)
      expect(html).toContain('action="/sign-out"')
      expect(await attributesOf(html, '.sidebar [aria-current=page]', 'href')).toEqual(['/docs'])
      expect(html).not.toMatch(/<script>alert|<img/)
    }
  })

  test('no page has a placeholder left', async () => {
    const browser = await pages.signedIn()
    for (const { slug, markdown } of all) {
      const { html } = await browser.get(`/docs/${slug}`)
      expect([slug, html.replaceAll('<wbr>', '').match(/APP_ID|SITE_ID/)]).toEqual([slug, null])
      const said = (await textOf(html, '.docs-reader'))[0] ?? ''
      expect([slug, said.includes('Samples use the IDs')]).toEqual([slug, /APP_ID|SITE_ID/.test(markdown)])
      expect([slug, said.includes('to your key')]).toEqual([slug, markdown.includes('SERVICE_API_KEY')])
    }
  })

  test('no page contains a key or a secret', async () => {
    const browser = await pages.signedIn()
    const secrets = (await pages.store.listSecrets(pages.begun.accountId, 0)).map(({ secret }) => secret)
    expect(secrets.length).toBeGreaterThan(0)
    for (const { slug } of all) {
      const { html } = await browser.get(`/docs/${slug}`)
      for (const secret of [...secrets, pages.begun.apiKey]) expect(html).not.toContain(secret)
    }
  })

  test('without a key there is a link to make one', async () => {
    const other = await openAccount()
    const browser = await other.signedIn()
    for (const { id } of await other.store.listKeys(other.begun.accountId)) {
      await browser.submit(other.at('keys'), other.at('keys/revoke'), { key: id })
    }
    const { html } = await browser.get('/docs/start')
    expect((await textOf(html, '.docs-reader'))[0]).toContain('You have no API key yet')
    await other.close()
  })

  test('the switcher keeps the page and changes the app, for members only', async () => {
    const second = await pages.addAccount('bob@example.com', 'Second')
    const stranger = await pages.addAccount('eve@example.com', 'Strange')
    await pages.addMember('ada@example.com', 'viewer', second.accountId)
    const browser = await pages.signedIn()
    const { html } = await browser.get('/docs/events')
    const to = await attributesOf(html, '.account-apps a', 'href')
    const other = to.find((href) => href?.includes(second.appId)) ?? ''
    const { status, location } = await browser.get(other)
    expect([status, location]).toEqual([303, '/docs/events'])
    expect((await browser.get('/docs/start')).html).toContain(second.appId)
    expect((await browser.get(`/apps/${stranger.appId}/docs`)).status).toBe(404)
    expect((await browser.get('/docs/start')).html).toContain(second.appId)
    expect((await browser.get(`/apps/${second.appId}/docs?to=https://evil.example/`)).location).toBe('/')
  })
})

describe('the search', () => {
  test('finds guides and calls of the API, with highlighted words', async () => {
    const { status, html } = await get('/docs/search?q=idempotency')
    expect(status).toBe(200)
    const links = await attributesOf(html, '.docs-results a', 'href')
    expect(links).toContain('/docs/retries')
    expect(links.some((href) => href?.startsWith('/docs/api/post-'))).toBe(true)
    expect(new Set((await textOf(html, '.docs-results mark')).map((text) => text.toLowerCase()))).toContain(
      'idempotency',
    )
    expect(await attributesOf(html, '#menu-search', 'value')).toEqual(['idempotency'])
  })

  const first = async (query: string, most: number): Promise<(string | null)[]> => {
    const { html } = await get(`/docs/search?q=${encodeURIComponent(query)}`)
    return (await attributesOf(html, '.docs-results a', 'href')).slice(0, most)
  }

  test.each([
    ['unsubcribe', '/docs/bounces#unsubscribe'],
    ['wrong api key', '/docs/errors'],
    ['why did a person not get an email', '/docs/sending#why-wasnt-the-email-sent'],
  ])('answers “%s” first', async (query, path) => expect(await first(query, 1)).toEqual([path]))

  test.each([
    ['how do I verify my domain', '/docs/domains#verified-for-an-account'],
    ['import contacts from a csv file', '/docs/command-line#import-and-export-people'],
    ['forgot my password', '/docs/sessions#forgotten-passwords'],
    ['how can I back up the database', '/docs/backups#scheduled-backups'],
    ['upgrade to a new version', '/docs/upgrades#upgrade'],
    ['cancel an email that is waiting', '/docs/states#waiting-emails'],
    ['what does defered mean', '/docs/states#states'],
    ['emails end up in spam', '/docs/rates#the-brake'],
    ['set up smtp', '/docs/senders#mail-servers'],
    ['nginx reverse proxy', '/docs/hosting#behind-a-reverse-proxy'],
    ['invite a colleague', '/docs/accounts#invitations'],
    ['retry a failed request', '/docs/retries'],
    ['how long is data kept', '/docs/retention'],
  ])('answers “%s” among the first two', async (query, path) => expect(await first(query, 2)).toContain(path))

  test('lists an error code once, where it is explained', async () => {
    const links = await attributesOf((await get('/docs/search?q=internal_error')).html, '.docs-results a', 'href')
    expect(links.filter((href) => href?.includes('errors'))).toEqual(['/docs/errors'])
  })

  test('lists what is for developers of Eventpost last', async () => {
    const links = await attributesOf((await get('/docs/search?q=template')).html, '.docs-results a', 'href')
    const isMinor = links.map((href) => /^\/docs\/(asvs|development|commands)/.test(href ?? ''))
    expect(isMinor).toContain(true)
    expect(isMinor).toEqual(isMinor.toSorted())
  })

  test('excerpts of tables have no names of columns', async () => {
    const texts = await textOf((await get('/docs/search?q=createContact')).html, '.docs-results span')
    expect(texts.length).toBeGreaterThan(2)
    expect(texts.filter((text) => /Field Type Meaning|Status Code|\. \.| \. /.test(text))).toEqual([])
  })

  test('results lead to existing headings', async () => {
    for (const query of ['limit', 'email', 'error', 'contact']) {
      for (const href of await attributesOf((await get(`/docs/search?q=${query}`)).html, '.docs-results a', 'href')) {
        const [path = '', id] = (href ?? '').split('#')
        const { status, html } = await get(path)
        expect([href, status, id === undefined || html.includes(`id="${id}"`)]).toEqual([href, 200, true])
      }
    }
  })

  test('renders each page once for searches at the same time, and other requests are answered in between', async () => {
    const { app } = createDashboard({ ...pages.parts, openApi: openApiOf(pages.parts) })
    const read = (path: string) => app.handle(new Request(BASE + path))
    await read('/docs/start')
    const renders = spyOn(Bun.markdown, 'html')
    let turns = 0
    const count = (): void => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const found = await Promise.all(['limit', 'event'].map((query) => read(`/docs/search?q=${query}`)))
    clearImmediate(next)
    const rendered = renders.mock.calls.length
    renders.mockRestore()
    expect(found.map(({ status }) => status)).toEqual([200, 200])
    expect(rendered).toBe(all.length - 1)
    // one for every few milliseconds of more than fifty
    expect(turns).toBeGreaterThan(4)
  })

  test('what was typed stays text', async () => {
    const { status, html } = await get(`/docs/search?q=${encodeURIComponent(HOSTILE)}`)
    expect([status, /<script>alert|<img/.test(html)]).toEqual([200, false])
  })

  test('says when nothing is found, and takes an empty or long query', async () => {
    expect((await textOf((await get('/docs/search?q=zzzz')).html, '.lead'))[0]).toBe('Nothing found for “zzzz”.')
    for (const query of ['', '?q=', `?q=${'x'.repeat(8_000)}`])
      expect((await get(`/docs/search${query}`)).status).toBe(200)
  })
})

describe('as Markdown', () => {
  test('each page is its text', async () => {
    for (const { slug, title } of all) {
      const { status, html, headers } = await get(`/docs/${slug}.md`)
      expect([slug, status, headers.get('content-type')]).toEqual([slug, 200, 'text/markdown; charset=utf-8'])
      expect(html.startsWith(`# ${title}\n`)).toBe(true)
      expect(html).not.toMatch(/\{base_url\}|\{samples:/)
    }
  })

  test('llms.txt lists the pages, and has all of them', async () => {
    const { status, html, headers } = await get('/llms.txt')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    const [index = '', ...rest] = html.split(`\n# ${all[0]?.title}\n`)
    const paths = Array.from(index.matchAll(/\]\(http:\/\/localhost:8080(\/docs\/[^)]+)\)/g), ([, path = '']) => path)
    expect(paths).toEqual(all.map(({ slug }) => `/docs/${slug}.md`))
    for (const path of paths) {
      const page = await get(path)
      expect([path, page.status, html.includes(`\n${page.html}`)]).toEqual([path, 200, true])
    }
    expect(rest).toHaveLength(1)
    expect((await get('/llms-full.txt')).status).toBe(404)
  })

  test('llms.txt is compressed, and an unchanged one is not sent again', async () => {
    const ask = async (headers: Record<string, string>) => pages.handle('/llms.txt', { headers })
    const packed = await ask({ 'Accept-Encoding': 'gzip' })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    const text = new TextDecoder().decode(Bun.gunzipSync(await packed.arrayBuffer()))
    const plain = await ask({})
    expect(text).toBe(await plain.text())
    const again = await ask({ 'If-None-Match': plain.headers.get('etag') ?? '' })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })
})

test('text that looks like HTML stays text', async () => {
  const { html } = await get('/docs/snippet')
  expect(html).toContain('&lt;script async src=&quot;http://localhost:8080/s.js&quot;')
  expect(html.match(/<script/g)).toHaveLength(2)
})

test("samples of a call link to the app's own domain", () => {
  const page = all.find(({ slug }) => slug === 'api/post-events')
  const values = { appId: 'APP_ID', siteId: 'SITE_ID', homeUrl: 'https://acme.test', language: null }
  const html = page ? fillDocHtml(createDocHtml(page, 'http://localhost:8080'), 'http://localhost:8080', values) : ''
  expect(html.match(/https:\/\/acme\.test\/results\/1/g)).toHaveLength(8)
  expect(page?.markdown).toContain('https://app.example.com/results/1')
})

test('hostile text in a setting or in the description of a call stays text', () => {
  const hostile = '</code></pre><script>alert(1)</script>"\n```\n<img src=x onerror=alert(1)>'
  const described = openApiOf(pages.parts)()
  const [overview] = createApiPages({ ...described, info: { ...described.info, description: hostile } })
  for (const page of [overview, ...all]) {
    if (!page) continue
    const values = { appId: 'APP_ID', siteId: 'SITE_ID', homeUrl: hostile, language: null }
    expect(fillDocHtml(createDocHtml(page, hostile), hostile, values)).not.toMatch(/<script|<img/)
  }
})

test.each(['/docs/none', '/docs/none.md', '/docs/api/none', '/docs/api/none.md', '/docs/__proto__'])(
  '%s is unknown',
  async (path) => {
    expect((await get(path)).status).toBe(404)
  },
)

test('the report of a visit names each field once, and can be sent from a shell', () => {
  const page = all.find(({ slug }) => slug === 'api/report-visit')
  const [, table = ''] = page?.markdown.split('## VisitItem object') ?? []
  expect(table.match(/^\| `type` .*$/gm)).toEqual([expect.stringMatching(/one of `page`, `leave`, `here`, `track`/)])
  const [request] = page?.samples.get('request') ?? []
  expect(request?.blocks[0]?.code).toContain('openssl dgst -sha256 -hmac "$SERVICE_IDENTITY_SECRET"')
  expect(request?.blocks[0]?.code).toMatch(/"signature":"'"\$signature"'","id"/)
})
