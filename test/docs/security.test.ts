import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MOST_WATCHERS } from '../../src/events/feed.ts'
import { PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS } from '../../src/accounts/passwords.ts'
import { MANY_WRONG_CODES } from '../../src/accounts/second-steps.ts'
import { CONFIRMED_MS, SESSION_IDLE_MS, SESSION_MS } from '../../src/accounts/sessions.ts'
import { MANY_FAILURES } from '../../src/accounts/sign-in-notes.ts'
import { SIGN_IN_DELAYS } from '../../src/accounts/sign-in-tries.ts'
import { makeRecoveryCodes } from '../../src/accounts/two-step.ts'
import { SETTINGS } from '../../src/config.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { MAX_REQUESTS } from '../../src/server.ts'
import { MOST_SESSIONS, SIGN_INS_KEPT_MS } from '../../src/accounts/account-rules.ts'
import { type AccountPages, createBrowser, openAccount } from '../dashboard/browser.ts'
import { attributesOf } from '../dashboard/pages.ts'
import { createTestServer, type TestServer } from '../helper.ts'

const ROOT = join(import.meta.dir, '../..')
const page = [
  'security',
  'threats',
  'vulnerabilities',
  'accounts',
  'sessions',
  'data',
  'cryptography',
  'asvs',
  'asvs-v8',
]
  .map((slug) => DOC_PAGES.find((one) => one.slug === slug)?.markdown ?? '')
  .join('\n')
const text = page.replaceAll(/ +/g, ' ')

type Row = { number: string; level: string; status: string; how: string; tests: string[] }
const ROW = /^\| (\d+\.\d+\.\d+), L([12]) \| (.+?) \| \*\*(.+?)\*\*: (.+?) \| (.*?) ?\|$/gm
const rows: Row[] = Array.from(
  text.matchAll(ROW),
  ([, number = '', level = '', , status = '', how = '', tests = '']) => ({
    number,
    level,
    status,
    how,
    tests: Array.from(tests.matchAll(/`([^`]+)`/g), ([, path = '']) => path),
  }),
)

const STATUSES = ['Does not apply', 'Operator', 'Met', 'Not met']
const count = (level: string, status?: string) =>
  rows.filter((row) => row.level === level && (status === undefined || row.status === status)).length

describe('the table of ASVS 5.0', () => {
  test('has every requirement of level 1 and 2 once, with a status and a reason', () => {
    expect([count('1'), count('2')]).toEqual([70, 183])
    expect(new Set(rows.map(({ number }) => number)).size).toBe(253)
    expect(rows.filter(({ status, how }) => !STATUSES.includes(status) || how.length < 3)).toEqual([])
  })

  test('names an existing test for each met requirement', () => {
    expect(rows.filter(({ status, tests }) => status === 'Met' && tests.length === 0)).toEqual([])
    const missing = rows.flatMap(({ tests }) => tests).filter((path) => !existsSync(join(ROOT, 'test', path)))
    expect(missing).toEqual([])
    // a page about something else proves nothing
    const proven = rows.flatMap(({ tests }) => tests).filter((path) => !path.endsWith('.test.ts'))
    expect(proven).toEqual([])
  })

  test('names parts of the documentation, settings and commands that exist', () => {
    const parts = rows.flatMap(({ how }) =>
      Array.from(how.matchAll(/\]\(([a-z0-9-]+)(?:#([a-z-]+))?\)/g), ([, slug, part]) => ({ slug, part })),
    )
    expect(parts.length).toBeGreaterThan(10)
    const missing = parts.filter(({ slug, part }) => {
      const found = DOC_PAGES.find((one) => one.slug === slug)
      const headings = Array.from(found?.source.matchAll(/^## (.+)$/gm) ?? [], ([, heading = '']) => heading)
      const ids = headings.map((heading) => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
      return !found || (part !== undefined && !ids.includes(part))
    })
    expect(missing).toEqual([])
    const settings = rows.flatMap(({ how }) =>
      Array.from(how.matchAll(/`(EVENTPOST_\w+|--[a-z-]+)`/g), ([, name]) => name),
    )
    expect(settings.length).toBeGreaterThan(1)
    const known = Object.values(SETTINGS).flatMap(({ env, flag }) => [env, `--${flag}`])
    expect(settings.filter((name) => !known.includes(name ?? ''))).toEqual([])
  })

  test('has the counts stated on the page', () => {
    const said = (name: string) => new RegExp(`^\\| ${name} \\| (\\d+) \\| (\\d+) \\|$`, 'm').exec(text)?.slice(1)
    expect(said('Requirements')).toEqual([String(count('1')), String(count('2'))])
    for (const status of STATUSES)
      expect([status, said(status)]).toEqual([status, [String(count('1', status)), String(count('2', status))]])
    const applies = (level: string) => count(level, 'Met') + count(level, 'Not met')
    const share = ((100 * count('2', 'Met')) / applies('2')).toFixed(1)
    expect(text).toContain(
      `it meets ${count('1', 'Met')} of ${applies('1')} at level 1 and ${count('2', 'Met')} of ${applies('2')} (${share}%) at level 2`,
    )
  })

  test('shows all of level 1 and at least 95% of level 2', () => {
    expect(count('1', 'Not met')).toBe(0)
    expect(count('2', 'Met') / (count('2', 'Met') + count('2', 'Not met'))).toBeGreaterThanOrEqual(0.95)
  })
})

describe('the page is correct', () => {
  const says = (...sentences: string[]) => {
    for (const sentence of sentences) expect(text).toContain(sentence)
  }
  const hours = (ms: number) => ms / 3_600_000

  test('about passwords and sign-in', () => {
    const { pair, address, account, known, code, codes } = SIGN_IN_DELAYS
    says(
      `${PASSWORD_MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters of any kind`,
      `| one IP address and one member | ${pair.free} | 1 second, doubled with each attempt | ${pair.maxMs / 1_000} seconds |`,
      `| one IP address, all members | ${address.free} | 1 second, doubled with every 2nd attempt | ${address.maxMs / 1_000} seconds |`,
      `| one member, all IP addresses | ${account.free} | 1 second, doubled with every 5th attempt: a new IP address waits this long before its first attempt | ${account.maxMs / 1_000} seconds |`,
      `| browsers the member has signed in with | ${known.free} | 1 second, doubled with each attempt | ${known.maxMs / 1_000} seconds |`,
      `| codes, one IP address and one member | ${code.free} | 1 second, doubled with each attempt | ${code.maxMs / 1_000} seconds |`,
      `After ${MANY_WRONG_CODES} wrong codes, a browser that the member has not signed in with needs two codes in a row`,
      'This count expires after a day without an attempt, and all others after an hour.',
      `after ${MANY_FAILURES.wrong_password} wrong passwords or ${MANY_FAILURES.wrong_code} wrong codes in a day`,
    )
    expect([address.step, account.step, pair.step]).toEqual([2, 5, 1])
    expect(hours(codes.quietMs)).toBe(24)
    for (const { quietMs } of [pair, address, account, known, code]) expect(hours(quietMs)).toBe(1)
    const [recovery = ''] = makeRecoveryCodes().codes
    says(`ten recovery codes of ${recovery.replaceAll('-', '').length * 5} bits`)
  })

  test('about sessions, live pages, requests and the audit log', () => {
    says(
      `It ends ${hours(SESSION_IDLE_MS)} hours after it was last used and ${hours(SESSION_MS) / 24} days after it began.`,
      `A member has at most ${MOST_SESSIONS}`,
      `entered it in the last ${CONFIRMED_MS / 60_000} minutes`,
      `${MOST_WATCHERS.member} per member, ${MOST_WATCHERS.account} per account, ${MOST_WATCHERS.all} in total`,
      `${MAX_REQUESTS.toLocaleString('en')} API and MCP requests, and ${MAX_REQUESTS.toLocaleString('en')} from the browser script, at a time`,
      `sign-ins for ${hours(SIGN_INS_KEPT_MS) / 24} days`,
    )
  })

  test.each([
    ['Authentication', 'API key'],
    ['Passwords', 'eventpost'],
    ['Access', 'Viewer'],
    ['Input', 'occurredAt'],
    ['Files', 'One page accepts a file'],
    ['Expensive operations', 'templates'],
    ['Data', 'personal'],
    ['Cryptography', 'AES-256-GCM'],
    ['Network', 'Outbound'],
    ['Logs', 'standard output'],
    ['Report a vulnerability', 'privately'],
    ['Times', '7 days'],
    ['Dependencies', 'bun audit'],
    ['What is protected', "people's data"],
    ['Who could attack', 'operator'],
    ['How it is protected', 'bun run fuzz'],
    ['What is not protected', 'API key'],
  ])('there is a part about %s', (name, word) => {
    const [, section = ''] = text.split(new RegExp(`\n##? ${name}\n`))
    expect(section.split('\n## ')[0]).toContain(word)
  })
})

describe('the code', () => {
  const read = (glob: string) =>
    [...new Bun.Glob(glob).scanSync(ROOT)].map((path) => ({ path, source: readFileSync(join(ROOT, path), 'utf8') }))
  const using = (files: { path: string; source: string }[], what: RegExp) =>
    files.filter(({ source }) => what.test(source)).map(({ path }) => path)
  // islands run in browsers, and samples belong to customers
  const server = read('src/**/*.{ts,tsx}').filter(({ path }) => !/\/(islands|samples)\//.test(path))

  test('starts no shell or child process', () => {
    expect(using(server, /child_process|Bun\.\$|\bexecSync?\(|\bspawnSync?\(/)).toEqual([])
    expect(using(server, /Bun\.spawn/)).toEqual([])
  })

  test('creates regular expressions from constants only', () => {
    const made = server.flatMap(({ path, source }) =>
      Array.from(source.matchAll(/^(.*)new RegExp\(/gm), ([, before = '']) => ({ path, before })),
    )
    expect(made.length).toBeGreaterThan(5)
    // patterns of schemas, which are constants, and of routes that no module exports as a constant
    const others = made.filter(({ before }) => !/^(?:export )?const [A-Z_]+ = $/.test(before)).map(({ path }) => path)
    expect(others.toSorted()).toEqual(['src/core/inputs.ts', 'src/http/request-paths.ts'])
  })

  test('evaluates no text as code', () => {
    const all = [...server, ...read('src/dashboard/islands/*.ts'), ...read('snippet/*.ts')]
    expect(using(all, /\beval\(|new Function\(|node:vm/)).toEqual([])
  })

  test('sends HTTP requests to email APIs, Amazon SNS and the webhook for alerts, by command to the server itself, and opens sockets to mail servers only', () => {
    // samples of code, which are text
    expect(using(server, /(?<![.\w])fetch\(|node:https?'/).toSorted()).toEqual([
      'src/cli/examine.ts',
      'src/cli/health.ts',
      'src/docs/request-samples.ts',
      'src/mail/api-provider.ts',
      'src/mail/sns.ts',
      'src/mail/suppression-lists.ts',
      'src/monitoring/webhook.ts',
    ])
    const sockets = using(server, /createConnection|\b(?:net|tls)\.connect|\bconnect\(\{|Bun\.connect/)
    expect(sockets.length).toBeGreaterThan(0)
    expect(sockets.filter((path) => !path.startsWith('src/mail/'))).toEqual([])
  })

  test('stores nothing in browser storage', () => {
    expect(using(read('src/dashboard/islands/*.ts'), /localStorage|sessionStorage|indexedDB|caches\./)).toEqual([])
  })

  test('depends on exact versions', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string>
    >
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
    )
    expect(loose).toEqual([])
    expect(existsSync(join(ROOT, 'bun.lock'))).toBe(true)
  })
})

describe('password fields', () => {
  let pages: AccountPages
  beforeAll(async () => {
    pages = await openAccount()
  })
  afterAll(() => pages.close())

  test('mask input, and allow paste and password managers', async () => {
    const browser = await pages.signedIn()
    pages.clock.ms += CONFIRMED_MS
    const htmls = [
      (await createBrowser(pages).get('/sign-in')).html,
      (await browser.get(pages.at('you'))).html,
      (await browser.post(pages.at('keys'), { name: 'x', scope: 'standard' })).html,
    ]
    for (const html of htmls) {
      const names = await attributesOf(html, 'input[name*=assword]', 'name')
      expect(names.length).toBeGreaterThan(0)
      expect(await attributesOf(html, 'input[name*=assword]', 'type')).toEqual(names.map(() => 'password'))
      for (const hint of await attributesOf(html, 'input[name*=assword]', 'autocomplete'))
        expect(hint).toMatch(/^(current|new)-password$/)
      expect(html).not.toMatch(/onpaste|oncopy|readonly/)
    }
  })
})

describe('a password', () => {
  let pages: AccountPages
  beforeAll(async () => {
    pages = await openAccount()
  })
  afterAll(() => pages.close())

  test('has no hint or security question', async () => {
    const browser = await pages.signedIn()
    const fields = async (html: string) => (await attributesOf(html, 'main form input', 'name')).map(String).toSorted()
    expect(await fields((await createBrowser(pages).get('/sign-in')).html)).toEqual(['email', 'next', 'password'])
    const own = await fields((await browser.get(pages.at('you'))).html)
    expect(own.filter((name) => /hint|question|answer/i.test(name))).toEqual([])
    expect(own).toContain('newPassword')
  })

  test('does not expire', async () => {
    pages.clock.ms += 5 * 365 * 24 * 3_600_000
    const browser = await pages.signedIn()
    const { status, html } = await browser.get(pages.at('events'))
    expect([status, html.includes('newPassword')]).toEqual([200, false])
  })
})

describe('over the network', () => {
  let server: TestServer
  let http: Bun.Server<undefined>
  beforeAll(async () => {
    server = await createTestServer()
    http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => server.send(request, '127.0.0.1') })
  })
  afterAll(async () => {
    await http.stop(true)
    await server.close()
  })

  test('serves no files of a version control system', async () => {
    for (const path of ['/.git/HEAD', '/.git/config', '/.gitignore', '/assets/%2e%2e/.git/HEAD']) {
      const { status } = await fetch(`http://127.0.0.1:${http.port}${path}`)
      expect([path, status]).toEqual([path, 404])
    }
  })

  test('refuses TRACE without an echo', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    let heard = ''
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: http.port ?? 0,
      socket: {
        data: (_, chunk) => {
          heard += chunk.toString('utf8')
          if (heard.includes('\r\n\r\n')) resolve(heard)
        },
        close: () => resolve(heard),
      },
    })
    socket.write('TRACE / HTTP/1.1\r\nHost: localhost\r\nX-Secret: repeat-me\r\n\r\n')
    const answer = await promise
    socket.end()
    expect(answer).toStartWith('HTTP/1.1 405')
    expect(answer).not.toContain('repeat-me')
  })
})
