/** Sends hostile requests to every page as everybody who may reach it, and looks for answers that should not be. */
import { createSetupToken } from '../../src/accounts/accounts.ts'
import { openApiOf, openPages } from '../dashboard/pages.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { createRouteFinder, pathOf, type RouteFinder } from '../../src/http/request-paths.ts'
import { BASE_URL } from '../helper.ts'
import { createRandom, type Random } from '../random.ts'
import { HOSTILE, HOSTILE_ESCAPES, MARKUP } from './hostile.ts'
import { MARK, unknownLike } from './two-accounts.ts'
import { EVERYBODY, openTwoWorlds, PASSWORD, type Who, type World } from './world.ts'

/** Forms change what is stored, so after so many requests the pages begin anew. */
const WORLD_REQUESTS = 2_000
/** No answer takes longer, also beside other processes. */
const SLOWEST_MS = 20_000
const CRAWLED_PAGES = 200

type Route = { method: string; path: string }
type Form = { action: string; fields: [name: string, values: string[]][] }
/** What browsers find: real addresses and forms of each route, ids by the name of their place, and names of fields. */
type Site = {
  findRoute: RouteFinder
  addresses: Map<string, string[]>
  forms: Map<string, Form[]>
  ids: Map<string, string[]>
  names: string[]
}

export type Fault = { who: Who; method: string; path: string; body: string; reason: string }
export type Fuzzed = { requests: number; statuses: Map<number, number>; routes: Set<string>; faults: Fault[] }

/** Every page and form that a route of the dashboard answers. */
export function listRoutes({ server }: World): Route[] {
  const parts = server.parts()
  const { routes } = createDashboard({ ...parts, openApi: openApiOf(parts) }).app
  return routes.map(({ method, path }) => ({ method, path }))
}

/** The same seed makes the same choices; ids and tokens differ from run to run. */
export async function fuzzPages(options: { seed: number; requests: number }): Promise<Fuzzed> {
  const random = createRandom(options.seed)
  const fuzzed: Fuzzed = { requests: 0, statuses: new Map(), routes: new Set(), faults: [] }
  while (fuzzed.requests < options.requests) {
    const world = await openTwoWorlds()
    const most = Math.min(options.requests, fuzzed.requests + WORLD_REQUESTS)
    try {
      await fuzzWorld(world, { random, most, fuzzed })
      const lines = world.server.logged().split('\n')
      const errors = lines.filter((line) => line.includes('"level":"error"'))
      for (const reason of errors)
        fuzzed.faults.push({ who: 'nobody', method: '', path: 'in the log', body: '', reason })
    } finally {
      await world.closeRows()
      await world.close()
    }
    await fuzzSetup(random, fuzzed)
  }
  return fuzzed
}

type TwoWorlds = Awaited<ReturnType<typeof openTwoWorlds>>

async function fuzzWorld(
  world: TwoWorlds,
  { random, most, fuzzed }: { random: Random; most: number; fuzzed: Fuzzed },
): Promise<void> {
  const routes = listRoutes(world)
  const site = await crawl(world, routes)
  const turns = EVERYBODY.flatMap((who) => routes.map((route) => ({ who, route })))
  for (let turn = random.below(turns.length); fuzzed.requests < most; turn++) {
    const { who = 'nobody', route } = turns[(turn * STRIDE) % turns.length] ?? {}
    if (!route) throw new Error('there are no routes')
    if (random.isOften(0.01)) world.server.clock.tick(random.pick([60_000, 11 * 60_000, 3_600_000]))
    const usual = makeRequest(random, route, site)
    const request = who !== 'stranger' && random.isOften(0.1) ? nameSecond(world, random, usual) : usual
    const before = request === usual ? null : await world.readSecond()
    const { status, text, reason: fault } = await sendRequest(world, who, request)
    const reason = fault ?? (who === 'stranger' ? null : await findLeak(world, who, { request, before, status, text }))
    if (text.startsWith('<!doctype html>') && random.isOften(0.3)) await notePage(site, text, request.path)
    fuzzed.requests += 1
    fuzzed.routes.add(`${who} ${route.method} ${route.path}`)
    fuzzed.statuses.set(status, (fuzzed.statuses.get(status) ?? 0) + 1)
    if (reason !== null) fuzzed.faults.push({ who, ...request, reason })
    // a form may have ended the session, or taken the member away
    if (request.method === 'POST' && !(await staysSignedIn(world, who))) return
  }
}

/** The same request about what the second account has: its app, or one of its people, messages and emails. */
function nameSecond({ ids, server }: TwoWorlds, random: Random, request: Sent): Sent {
  const foreign = { app: ids.app, msg: ids.message, dlv: ids.delivery, con: ids.contact, key: ids.key }
  const isWhole = random.isOften(0.5)
  const swap = (text: string): string =>
    text.replaceAll(/\b(app|msg|dlv|con|key)_[0-9a-z]+/g, (id, kind: keyof typeof foreign) => {
      const others = foreign[kind]
      return kind === 'app' && !isWhole && id === server.first.appId ? id : (others[random.below(others.length)] ?? id)
    })
  const [path, body] = [swap(request.path), swap(request.body)]
  return path === request.path && body === request.body ? request : { ...request, path, body }
}

type Asked = { request: Sent; before: Map<string, string> | null; status: number; text: string }

/** The first account sees nothing of the second one, changes nothing of it, and cannot tell whether it exists. */
async function findLeak(world: TwoWorlds, who: Who, { request, before, status, text }: Asked): Promise<string | null> {
  if (text.includes(MARK))
    return `text of the other account: ${text.slice(Math.max(0, text.indexOf(MARK) - 200)).slice(0, 400)}`
  if (before === null) return null
  const changed = [...(await world.readSecond())].filter(([table, rows]) => before.get(table) !== rows)
  if (changed.length > 0) return `rows of the other account changed: ${changed.map(([table]) => table).join(', ')}`
  if (request.method !== 'GET') return null
  const known = [...world.ids.app, ...world.ids.message, ...world.ids.delivery, ...world.ids.contact, ...world.ids.key]
  const path = known.reduce((made, id) => made.replaceAll(id, unknownLike(id)), request.path)
  const other = await sendRequest(world, who, { ...request, path })
  const withoutIds = (shown: string): string =>
    known
      .reduce((made, id) => made.replaceAll(id, '').replaceAll(unknownLike(id), ''), shown)
      .replaceAll(/req_\w+/g, '')
  const isSame = status === other.status && withoutIds(text) === withoutIds(other.text)
  return isSame ? null : `"not yours" differs from "does not exist": ${status} and ${other.status}`
}

const SETUP_REQUESTS = 20

/** The set-up page of a server that nobody has set up, with the right token. */
async function fuzzSetup(random: Random, fuzzed: Fuzzed): Promise<void> {
  const pages = await openPages()
  const token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
  for (let turn = 0; turn < SETUP_REQUESTS; turn++) {
    const fields = Object.fromEntries(
      ['email', 'app', 'domain', 'password', 'next'].map((name) => {
        return [name, random.isOften(0.5) ? pickHostile(random) : pickUsual(random, name)]
      }),
    )
    const path = `/setup?token=${random.isOften(0.9) ? token : spoil(random)}`
    const response = random.isOften(0.3) ? await pages.get(path) : await pages.post('/setup', { ...fields, token })
    const { status } = response
    fuzzed.statuses.set(status, (fuzzed.statuses.get(status) ?? 0) + 1)
    const reason = findFault({ status, text: await response.text(), ms: 0 })
    if (reason !== null)
      fuzzed.faults.push({ who: 'nobody', method: 'POST', path, body: JSON.stringify(fields), reason })
  }
  await pages.close()
}

/** Signs in again where it has to. False where the password was changed, or the member is gone. */
const staysSignedIn = async (world: World, who: Who): Promise<boolean> =>
  (await world.isSignedIn(who)) || ((await world.signIn(who)) && (await world.isSignedIn(who)))

/** Shares no factor with the number of turns that is likely, so that neighbours differ. */
const STRIDE = 7919

/** Streams have no end, and are found by no link. */
const isStream = (route: string): boolean => /\/(?:feed|live)$/.test(route)

async function crawl(world: World, routes: Route[]): Promise<Site> {
  const findRoute = createRouteFinder(routes.map(({ path }) => path))
  const site: Site = { findRoute, addresses: new Map(), forms: new Map(), ids: new Map(), names: [] }
  const { appId } = world.server.first
  site.ids.set(':app', [appId])
  site.ids.set(':token', world.tokens)
  for (const token of world.tokens)
    for (const path of ['/password', '/setup']) noteAddress(site, `${path}?token=${token}`)
  const waiting = routes.flatMap(({ method, path }) =>
    method === 'GET' && !/:(?!app\b)/.test(path) && !isStream(path) ? [path.replace(':app', appId)] : [],
  )
  const seen = new Set(waiting)
  for (const address of waiting) {
    const response = await world.browse('owner', address)
    if (!response.headers.get('content-type')?.startsWith('text/html')) continue
    noteAddress(site, address)
    for (const link of await notePage(site, await response.text(), address)) {
      const route = findRoute(pathOf(link)) ?? '/feed'
      if (seen.has(link) || seen.size >= CRAWLED_PAGES || isStream(route)) continue
      seen.add(link)
      waiting.push(link)
    }
  }
  return site
}

/** Keeps what a page leads to. @returns its links */
async function notePage(site: Site, html: string, address: string): Promise<string[]> {
  const { links, forms } = await readPage(html, address)
  for (const form of forms) {
    const route = site.findRoute(pathOf(form.action)) ?? ''
    add(site.forms, route, form)
    for (const [name] of form.fields) if (!site.names.includes(name)) site.names.push(name)
  }
  for (const link of [...links, ...forms.map(({ action }) => action)]) noteAddress(site, link)
  return links
}

function noteAddress(site: Site, address: string): void {
  const path = pathOf(address)
  const route = site.findRoute(path)
  if (route === null) return
  if (!site.addresses.get(route)?.includes(address)) add(site.addresses, route, address)
  for (const [index, place] of route.split('/').entries()) {
    const id = path.split('/')[index] ?? ''
    if (place.startsWith(':') && !site.ids.get(place)?.includes(id)) add(site.ids, place, id)
  }
}

const MOST_KNOWN = 60

/** The oldest gives way: what it led to may be gone. */
function add<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name) ?? []
  list.push(value)
  if (list.length > MOST_KNOWN) list.shift()
  lists.set(name, list)
}

async function readPage(html: string, address: string): Promise<{ links: string[]; forms: Form[] }> {
  const links: string[] = []
  const forms: Form[] = []
  let form: Form | null = null
  let select: string[] = []
  const toPath = (href: string | null): string => {
    const url = URL.parse(href ?? '', `http://own.invalid${address}`)
    return url?.host === 'own.invalid' || url?.origin === BASE_URL ? url.pathname + url.search : '/'
  }
  const addField = (name: string | null, value: string | null): string[] => {
    // what the first owner types must not look like what belongs to the second one
    const values = [plain(value ?? '').replaceAll(MARK, 'Name')]
    if (form && name) form.fields.push([name, values])
    return values
  }
  await new HTMLRewriter()
    .on('iframe[src]', { element: (element) => void links.push(toPath(plain(element.getAttribute('src') ?? ''))) })
    .on('[formaction]', {
      element: (element) => void links.push(toPath(plain(element.getAttribute('formaction') ?? ''))),
    })
    .on('a[href]', { element: (element) => void links.push(toPath(plain(element.getAttribute('href') ?? ''))) })
    .on('form', {
      element(element) {
        form = { action: toPath(plain(element.getAttribute('action') ?? '')), fields: [] }
        if (element.getAttribute('method') === 'post') forms.push(form)
      },
    })
    .on('input, textarea', {
      element: (element) => void addField(element.getAttribute('name'), element.getAttribute('value')),
    })
    .on('select', { element: (element) => void (select = addField(element.getAttribute('name'), '')) })
    .on('option', { element: (element) => void select.push(plain(element.getAttribute('value') ?? '')) })
    .on('button[name]', {
      element: (element) => void addField(element.getAttribute('name'), element.getAttribute('value')),
    })
    .transform(new Response(html))
    .text()
  return { links, forms }
}

const plain = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

type Sent = { method: string; path: string; body: string; headers: Record<string, string> }

function makeRequest(random: Random, route: Route, site: Site): Sent {
  const method = random.isOften(0.03) ? random.pick(['HEAD', 'PUT', 'DELETE', 'GET', 'POST']) : route.method
  const path = makePath(random, route, site)
  const headers: Record<string, string> = {}
  if (random.isOften(0.1)) headers['Accept'] = random.pick(['*/*', 'application/json', 'text/html;q=%', ','])
  if (random.isOften(0.02))
    headers['Cookie'] = `eventpost_flash=${pickHeader(random)}; eventpost_theme=${pickHeader(random)}`
  if (random.isOften(0.02)) headers['User-Agent'] = pickHeader(random)
  if (random.isOften(0.02)) headers['Last-Event-ID'] = pickHeader(random)
  if (method !== 'POST' && method !== 'PUT') return { method, path, body: '', headers }
  headers['Content-Type'] = random.isOften(0.03)
    ? random.pick(['application/json', 'multipart/form-data; boundary=x', 'text/plain', ''])
    : 'application/x-www-form-urlencoded'
  return { method, path, body: makeBody(random, route, site), headers }
}

const pickHostile = (random: Random): string => HOSTILE[random.below(HOSTILE.length)] ?? ''
/** The header's characters only; a cookie keeps what stands before a semicolon. */
const pickHeader = (random: Random): string =>
  pickHostile(random)
    .replaceAll(/[^\x21-\x7e]/g, '_')
    .slice(0, 500)

function makePath(random: Random, { path: pattern }: Route, site: Site): string {
  const known = site.addresses.get(pattern) ?? []
  const [found = pattern] = known.length > 0 ? [known[random.below(known.length)]] : []
  const [pathname = '', query = ''] = (random.isOften(0.9) ? found : pattern).split('?')
  const routeSegments = pattern.split('/')
  const segments = pathname.split('/').map((segment, index) => {
    if (segment.startsWith(':')) return random.isOften(0.8) ? pickId(random, segment, site) : spoil(random)
    const isPlace = routeSegments[index]?.startsWith(':') === true
    return random.isOften(!isPlace ? 0.005 : index === 2 ? 0.03 : 0.2) ? spoil(random) : segment
  })
  const asked = random.isOften(0.5) ? makeQuery(random, query, site) : query
  const path = segments.join('/').replace(/^\/{2,}/, '/')
  return (path.startsWith('/') ? path : `/${path}`) + (asked === '' ? '' : `?${asked}`)
}

/** An id that is somebody's, at times of another kind. */
function pickId(random: Random, place: string, site: Site): string {
  const kinds = random.isOften(0.9) ? [site.ids.get(place) ?? []] : [...site.ids.values()]
  const known = kinds.flat()
  return known[random.below(known.length || 1)] ?? 'none'
}

const QUERY_NAMES =
  'before after people event range state message version token next member page check expired unsent sample'.split(' ')

function makeQuery(random: Random, query: string, site: Site): string {
  const pairs = query === '' ? [] : query.split('&')
  const names = [...QUERY_NAMES, ...HOSTILE.slice(0, 16), ...site.names]
  for (let more = 1 + random.below(3); more > 0; more--) {
    const name = names[random.below(random.isOften(0.8) ? QUERY_NAMES.length : names.length)] ?? ''
    pairs.push(`${encodeURIComponent(name.toWellFormed())}=${spoil(random)}`)
  }
  return pairs.join('&').replaceAll('#', '%23')
}

const escapeHostile = (random: Random): string => encodeURIComponent(pickHostile(random).toWellFormed())
/** What stands in a path or a query, well encoded or not. */
const spoil = (random: Random): string =>
  random.isOften(0.5) ? escapeHostile(random) : (HOSTILE_ESCAPES[random.below(HOSTILE_ESCAPES.length)] ?? '')

function makeBody(random: Random, { path: pattern }: Route, site: Site): string {
  if (random.isOften(0.04))
    return random.pick(['', '%', '&&==&', 'a=%ff&%zz=%', '{"a":1}', '\0', 'a='.padEnd(600_000, 'x')])
  const forms = site.forms.get(pattern) ?? []
  const form = forms[random.below(forms.length || 1)]
  const share = random.pick([0, 0.1, 0.5, 1])
  const fields = new URLSearchParams()
  for (const [name, values] of form?.fields ?? []) {
    // what fills the time is done now and then
    const usual = values[random.below(values.length)] || pickUsual(random, name)
    const value = random.isOften(share) ? pickHostile(random) : usual
    if (!random.isOften(0.03))
      fields.append(name, value.startsWith('simulate') && !random.isOften(0.1) ? 'preview' : value)
  }
  for (let more = random.below(4); more > 0; more--) {
    const name = random.isOften(0.7) ? (site.names[random.below(site.names.length)] ?? '') : pickHostile(random)
    fields.append(name, pickHostile(random))
  }
  if (random.isOften(0.2)) for (const name of EDITOR_FIELDS) fields.set(name, pickHostile(random))
  return fields.toString()
}

/** What somebody would type into an empty field, so that forms are taken too. */
function pickUsual(random: Random, name: string): string {
  if (/email$/i.test(name)) return `person${random.below(30)}@example.com`
  if (/password/i.test(name)) return PASSWORD
  if (/domain|host/i.test(name)) return 'mail.first.example'
  if (/url|home/i.test(name)) return 'https://first.example/'
  return /minutes|hours|days|per/i.test(name) ? '3' : 'Something'
}

/** Rows of the editor, which a stored message may not have. */
const EDITOR_FIELDS = [
  'onlyIf[0].rule',
  'onlyIf[0].field',
  'onlyIf[0].is',
  'onlyIf[1].rule',
  'trigger.where[0].is',
  'wait.unit',
]

async function sendRequest(
  world: World,
  who: Who,
  { method, path, body, headers }: Sent,
): Promise<{ status: number; text: string; reason: string | null }> {
  const startedAt = performance.now()
  const hasBody = method === 'POST' || method === 'PUT'
  const response = await world.browse(who, path, { method, headers, ...(hasBody ? { body } : {}) })
  const { status } = response
  const text = await readStart(response)
  const ms = performance.now() - startedAt
  // browsers save these, and never read them as HTML
  const isFile = response.headers.get('content-disposition')?.startsWith('attachment') === true
  return { status, text, reason: findFault({ status, text: isFile ? '' : withoutPlainText(response, text), ms }) }
}

/** The preview shows the plain text of an email as text, never as HTML. */
function withoutPlainText({ headers }: Response, text: string): string {
  if (text === '' || !headers.get('content-type')?.startsWith('application/json')) return text
  const shown = JSON.parse(text) as { mail?: object | null } | null
  return shown?.mail ? JSON.stringify({ ...shown, mail: { ...shown.mail, text: '' } }) : text
}

/** A stream has no end. */
async function readStart(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  await response.body?.cancel()
  return ''
}

function findFault({ status, text, ms }: { status: number; text: string; ms: number }): string | null {
  if (status >= 500) return `${status}: ${text.slice(0, 300)}`
  if (text.includes(MARKUP.slice(2, 20)) || text.includes('<img src=x')) return 'text became markup'
  if (text.includes('[native code]') || text.includes('[object Object]')) return 'an inherited property is shown'
  return ms > SLOWEST_MS ? `it took ${Math.round(ms)} ms` : null
}

/** What it takes to send it again. */
export const describeFault = ({ who, method, path, body, reason }: Fault): string =>
  `${who} ${method} ${path}\n  ${body === '' ? '' : `${body.slice(0, 2_000)}\n  `}${reason}`
