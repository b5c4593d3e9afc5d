/** Shared: a dashboard server with a store in its own folder. */
import { expect } from 'bun:test'
import { createAccess } from '../../src/accounts/access.ts'
import { createNotes } from '../../src/events/activation.ts'
import { createFeed } from '../../src/events/feed.ts'
import { createCallLog } from '../../src/accounts/call-log.ts'
import { createRequestLog } from '../../src/http/request-log.ts'
import { createAbuseLimits } from '../../src/http/abuse-limits.ts'
import { createLimits } from '../../src/accounts/limits.ts'
import { createEventRecorder } from '../../src/events/events.ts'
import { createSimulations } from '../../src/deliveries/simulation/index.ts'
import { createSignInNotes, type NoteSecurity } from '../../src/accounts/sign-in-notes.ts'
import { createSnippetLimits } from '../../src/visits/snippet-limits.ts'
import type { Dependencies } from '../../src/dependencies.ts'
import { setFacts } from '../../src/http/request-facts.ts'
import type { DataLocation } from '../../src/core/data-location.ts'
import { createTakeHook } from '../../src/mail/hooks.ts'
import type { SenderDependencies } from '../../src/mail/sender.ts'
import type { ServerFacts } from '../../src/monitoring/installation.ts'
import { createMonitor, type LoggedError } from '../../src/monitoring/monitor.ts'
import { createWeeklySummaries } from '../../src/monitoring/weekly-summary.ts'
import { createWebhook, type WebhookTarget } from '../../src/monitoring/webhook.ts'
import { type Begin, createBeginnings, locationOf } from '../data-folder.ts'
import { HOUR } from '../durations.ts'
import { createTestSender, TEMPLATES, TEST_SERVER } from '../helper.ts'
import { NOW, takeServer } from './server.ts'

export { DAY, NOW, openApiOf } from './server.ts'
export const BASE = 'http://localhost:8080'

export const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(2)>'&lt;{{event.x}}</textarea></title>`

export type SecurityNote = { level: string; message: string } & Record<string, unknown>

type Options = {
  baseUrl?: string
  host?: string
  resolveTxt?: SenderDependencies['resolveTxt']
  mail?: Partial<SenderDependencies>
  /** gets alerts */
  webhook?: WebhookTarget
  server?: Partial<ServerFacts>
  errors?: LoggedError[]
  /** by default the folder */
  location?: DataLocation
}

const beginEmpty = createBeginnings(async () => null)

/** Pages of an installation without accounts. */
export const openPages = async (options?: Options) => (await openBegun(beginEmpty, options)).pages

/** Pages of an installation that has begun. */
export async function openBegun<T>(
  begin: Begin<T>,
  { baseUrl = BASE, host, resolveTxt = async () => null, mail, ...given }: Options = {},
) {
  const { folder, clock, store, dashboard, begun, end } = await takeServer(begin, { baseUrl, host })
  const feed = createFeed({ store })
  const notes: SecurityNote[] = []
  const noteSecurity: NoteSecurity = (level, message, fields) => void notes.push({ level, message, ...fields })
  const mailer = createTestSender({ store, clock }, { resolveTxt, ...mail })
  const callWebhook = given.webhook ? createWebhook(given.webhook) : null
  const server = { ...TEST_SERVER, baseUrl, startedAt: NOW, ...given.server }
  const listErrors = () => given.errors ?? []
  const monitoring = {
    store,
    clock,
    mailer,
    baseUrl,
    location: given.location ?? locationOf(folder),
    server,
    callWebhook,
    listErrors,
    note: noteSecurity,
  }
  const monitor = createMonitor(monitoring)
  const limits = createLimits({ clock })
  const access = createAccess({ store, clock })
  const activationNotes = createNotes({ store, clock, onNote: feed.notify })
  const parts: Dependencies = {
    store,
    clock,
    baseUrl,
    addressKey: 'k',
    unsubscribeKey: 'u',
    previewKey: 'p',
    mailer,
    takeHook: createTakeHook({ store, clock, topicKey: 'p' }),
    noteSecurity,
    signInNotes: createSignInNotes({ store, clock, addressKey: 'k', baseUrl, mailer, noteSecurity }),
    access,
    limits,
    recordEvent: createEventRecorder({ store, clock, limits, notes: activationNotes, access }),
    abuseLimits: createAbuseLimits({ clock }),
    snippetLimits: createSnippetLimits({ clock }),
    simulations: createSimulations(locationOf(folder), HOUR),
    templates: TEMPLATES,
    notes: activationNotes,
    feed,
    calls: createCallLog({ store }),
    requests: createRequestLog({ store, clock, access }),
    monitor,
    weeklySummaries: createWeeklySummaries({ ...monitoring, monitor, unsubscribeKey: 'u' }),
  }
  dashboard.use(parts)
  const handle = (path: string, init: RequestInit = {}, address = '127.0.0.1') => {
    const request = new Request(`${baseUrl}${path}`, init)
    setFacts(request, { requestId: 'req_1', address: () => address })
    return dashboard.handle(request)
  }
  const pages = {
    ...parts,
    parts,
    folder,
    clock,
    /** security log entries */
    securityLog: notes,
    handle,
    /** Opens a one-time link at its URL without the token. */
    async openLink(path: string): Promise<Response> {
      const { status, headers } = await handle(path)
      const location = headers.get('location')
      if (status !== 303 || location !== path.split('?')[0]) throw new Error(`a link led to ${location}`)
      const [cookie = ''] = headers.getSetCookie()
      return handle(location, { headers: { Cookie: cookie.split(';')[0] ?? '' } })
    },
    get: (path: string, headers: Record<string, string> = {}) => handle(path, { headers }),
    post: (path: string, fields: Record<string, string>, headers: Record<string, string> = SAME_ORIGIN) =>
      handle(path, { method: 'POST', headers, body: new URLSearchParams(fields) }),
    close: async () => {
      parts.feed.end()
      await end()
    },
  }
  return { pages, begun }
}

export type Pages = Awaited<ReturnType<typeof openPages>>

export const SAME_ORIGIN = { 'Sec-Fetch-Site': 'same-origin' }

/** Text of all elements matching a selector. */
export async function textOf(html: string, selector: string): Promise<string[]> {
  const texts: string[] = []
  const rewriter = new HTMLRewriter()
    .on(selector, { element: () => void texts.push('') })
    .on(selector, { text: (chunk) => void texts.push((texts.pop() ?? '') + chunk.text) })
  await rewriter.transform(new Response(html)).text()
  return texts.map(unescape)
}

export async function attributesOf(html: string, selector: string, name: string): Promise<(string | null)[]> {
  const values: (string | null)[] = []
  const rewriter = new HTMLRewriter().on(selector, {
    element: (element) => void values.push(element.getAttribute(name)),
  })
  await rewriter.transform(new Response(html)).text()
  return values.map((value) => (value === null ? null : unescape(value)))
}

/** Fails if user input became an element or attribute. */
export async function expectHarmless(html: string): Promise<void> {
  const [page, ...islands] = await attributesOf(html, 'script', 'src')
  expect(page).toMatch(/^\/assets\/islands\/page-[0-9a-z]{8}\.js$/)
  for (const island of islands) expect(island).toMatch(/^\/assets\/islands\/(feed|chart|live|message)-[0-9a-z]{8}\.js$/)
  for (const src of await attributesOf(html, 'iframe', 'src'))
    expect(src).toMatch(/^\/(apps\/app_\w+\/(mail-frames\/\w{43}|deliveries\/dlv_\w+\/mail|sender\/sample))$/)
  const sandboxes = new Set(await attributesOf(html, 'iframe', 'sandbox'))
  expect(
    [...sandboxes].filter((rules) => rules !== 'allow-same-origin allow-popups allow-popups-to-escape-sandbox'),
  ).toEqual([])
  expect(await attributesOf(html, 'img, object, embed, base, style, meta[http-equiv]', 'src')).toEqual([])
  expect(await attributesOf(html, '[style], [onerror], [onload], [onclick], [onfocus]', 'class')).toEqual([])
  expect((await textOf(html, 'script')).join('')).toBe('')
}

const unescape = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
