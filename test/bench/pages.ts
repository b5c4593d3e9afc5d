/**
 * `bun run bench:pages [FOLDER]`: how long the executable takes to answer every page with a million people, ten million
 * events and a million deliveries stored (`bun run seed`, which is done first where the folder is missing), the newest 20 events of an app that
 * owns 20 of them, and what script and style a page costs over the wire. Exits 1 when a bar is missed.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { RARE_MESSAGE, SEEDED, type Seeded, seededFile } from './seeded.ts'
import { createFolder, EXECUTABLE, type Service, startService } from './service.ts'

const TIMES = Number(process.env.BENCH_TIMES ?? 200)
const WARM = 5
const PAGE_BARS = { p50: 50, p99: 150 }
const LIST_MS = 5
/** A page of deliveries, whatever is asked for. */
const DELIVERIES_MS = 20
const ASSET_BYTES = 60 * 1024

type Timing = { name: string; p50: number; p99: number; bytes: number }
type Get = (path: string) => Promise<Response>
type Post = (path: string, fields: Record<string, string>) => Promise<Response>

async function measure(name: string, path: string, get: Get): Promise<Timing> {
  const times: number[] = []
  let bytes = 0
  for (let index = 0; index < TIMES + WARM; index += 1) {
    const startedAt = performance.now()
    const response = await get(path)
    bytes = (await response.arrayBuffer()).byteLength
    if (index >= WARM) times.push(performance.now() - startedAt)
    if (response.status !== 200) throw new Error(`${name}: ${path} answered ${response.status}`)
  }
  times.sort((a, b) => a - b)
  const at = (share: number): number => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(2))
  return { name, p50: at(0.5), p99: at(0.99), bytes }
}

/** A browser of the owner. */
async function signIn({ url }: Service, { email, password }: Seeded): Promise<{ get: Get; post: Post }> {
  const body = new URLSearchParams({ email, password, next: '/' })
  const answer = await fetch(`${url}/sign-in`, { method: 'POST', headers: { Origin: url }, body, redirect: 'manual' })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  if (answer.status !== 303) throw new Error(`signing in answered ${answer.status}`)
  return {
    get: (path) => fetch(url + path, { headers: { Cookie: cookie }, redirect: 'manual' }),
    post: (path, fields) =>
      fetch(url + path, {
        method: 'POST',
        headers: { Cookie: cookie, Origin: url },
        body: new URLSearchParams(fields),
        redirect: 'manual',
      }),
  }
}

/** The address of the first link on a page whose address holds `part`. */
async function findLink(get: Get, page: string, part: string): Promise<string> {
  const html = await (await get(page)).text()
  const found = Array.from(html.matchAll(/href="([^"]+)"/g), ([, href = '']) => href.replaceAll('&amp;', '&'))
  const link = found.find((href) => href.includes(part) && href !== page)
  if (link === undefined) throw new Error(`no link on ${page} holds ${part}`)
  return link.startsWith('?') ? page.split('?')[0] + link : link
}

/** The longest range of results. */
function lastYear(): string {
  const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
  const now = Date.now()
  return `from=${dayOf(now - 365 * 86_400_000)}&to=${dayOf(now)}`
}

/** Each page with its address; the ones of a list further down too, because there a slow list is slowest. */
async function listPages(get: Get, name: string, app: string): Promise<[name: string, path: string][]> {
  const at = (page: string): string => `/apps/${app}/${page}`
  const ofApp = [
    'overview',
    'activation',
    'events',
    'people',
    'messages',
    'messages/new',
    'deliveries',
    'outbox',
    'suppressions',
  ]
  const simple = [
    ...ofApp,
    'sender',
    'sender/server',
    'sender/domain',
    'sender/limits',
    'keys',
    'keys/new',
    'requests',
    'requests?kind=all',
    'requests?code=not_found',
    'settings',
    'members',
    'members/new',
    'you',
  ]
  const ranges = ['events?range=hours', 'events?range=days', 'events?range=weeks']
  const pages = [...simple, ...ranges, 'events?event=$page', 'new-app'].map((page) => [`${name} ${page}`, at(page)])
  const event = await findLink(get, at('events'), '/events/evt_')
  const person = await findLink(get, event, '/people/con_')
  const message = await findLink(get, at('messages'), '/messages/msg_')
  const found = { event, person, message, results: `${message}/results`, year: `${message}/results?${lastYear()}` }
  return [
    ...(pages as [string, string][]),
    ...Object.entries(found).map(([what, path]) => [`${name} ${what}`, path] as [string, string]),
  ]
}

async function listDeepPages(get: Get, app: string): Promise<[name: string, path: string][]> {
  const at = (page: string): string => `/apps/${app}/${page}`
  const pages: [string, string][] = []
  for (const list of ['events', 'events?event=account_closed', 'events?event=paid', 'people']) {
    pages.push([`large ${list}`, at(list)])
    const older = await findLink(get, at(list), 'before=').catch(() => null)
    if (older) pages.push([`large ${list}, older`, older])
  }
  return pages
}

/** What the form of People finds, by each filter alone and by several, in each order. */
const PEOPLE_FILTERS: Record<string, string>[] = [
  { search: 'person12345' },
  { search: 'Person 4242' },
  { search: 'son 777' },
  { search: 'nobody here' },
  { tag: 'beta' },
  { status: 'subscribed' },
  { status: 'bounced' },
  { field: 'plan', value: 'pro' },
  { event: 'results_ready', did: 'yes' },
  { event: 'results_ready', did: 'no' },
  { seen: '1' },
  { seen: 'never' },
  { tag: 'beta', event: 'signed_in', did: 'yes' },
  { tag: 'beta', event: 'signed_in', did: 'yes', seen: '1' },
  { tag: 'beta', event: 'results_ready', did: 'no', status: 'subscribed' },
  { search: 'Person 4', tag: 'beta' },
  { emails: 'returned' },
  { emails: 'returned', days: '7' },
  { emails: 'returned', days: '30', message: 'first' },
  { emails: 'returned', days: '90', tag: 'beta', status: 'subscribed' },
  { emails: 'sent', sort: 'email' },
  { emails: 'not-sent' },
  { emails: 'not-sent', days: '90', message: 'first' },
  { emails: 'not-sent', days: '30', event: 'signed_in', did: 'yes' },
]

async function listPeoplePages(
  { get, post }: { get: Get; post: Post },
  app: string,
): Promise<[name: string, path: string][]> {
  const path = `/apps/${app}/people`
  const sorted: Record<string, string>[] = [{}, { tag: 'beta' }, { search: 'Person 42' }]
  const orders = ['name', 'email', 'seen'].flatMap((sort) => sorted.map((filter) => ({ ...filter, sort })))
  const asked: Record<string, string>[] = [...PEOPLE_FILTERS, ...orders]
  const message =
    /\/messages\/(msg_\w+)/.exec(await findLink(get, `/apps/${app}/messages`, '/messages/msg_'))?.[1] ?? ''
  const found = asked.map(async (fields): Promise<[string, string]> => {
    const to = (await post(path, fields.message ? { ...fields, message } : fields)).headers.get('location')
    if (to === null) throw new Error(`the form of People led nowhere: ${JSON.stringify(fields)}`)
    return [
      `people ${Object.entries(fields)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')}`,
      to,
    ]
  })
  return Promise.all(found)
}

/** Of the app and of a message, by states of which there are many, few and none. */
async function listDeliveryPages(get: Get, app: string): Promise<[name: string, path: string][]> {
  const list = `/apps/${app}/deliveries`
  const html = await (await get(list)).text()
  const messageOf = (name: string): string => new RegExp(`value="(msg_\\w+)"[^>]*>${name}<`).exec(html)?.[1] ?? ''
  const messages = { app: '', 'a message': messageOf('Message 7'), 'a rare message': messageOf(RARE_MESSAGE) }
  return Object.entries(messages).flatMap(([whose, message]) =>
    ['', 'sent', 'waiting', 'failed', 'bounced', 'complained'].map((state): [string, string] => [
      `deliveries of ${whose === 'app' ? 'the app' : whose}, ${state || 'all'}`,
      `${list}?message=${message}&state=${state}`,
    ]),
  )
}

/** Script and style of a page as a browser fetches them, packed. */
async function weigh(get: Get, { url }: Service, path: string): Promise<number> {
  const html = await (await get(path)).text()
  const assets = Array.from(html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g), ([, href = '']) => href)
  const sizes = assets.map(async (asset) => {
    const response = await fetch(url + asset, { headers: { 'Accept-Encoding': 'gzip' }, decompress: false })
    return (await response.arrayBuffer()).byteLength
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

const folder = resolve(process.argv[2] ?? SEEDED)
if (!existsSync(seededFile(folder))) {
  const { exitCode } = Bun.spawnSync([process.execPath, join(import.meta.dir, 'seed.ts'), folder], {
    stdout: 'inherit',
  })
  if (exitCode !== 0) throw new Error('seeding failed')
}
const seeded = (await Bun.file(seededFile(folder)).json()) as Seeded
const logs = createFolder()
const service = await startService([EXECUTABLE, 'serve', '--data', folder, '--port', '0'], logs.path)
try {
  const { get, post } = await signIn(service, seeded)
  const wanted = [
    ...(await listPages(get, 'large', seeded.large)),
    ...(await listDeepPages(get, seeded.large)),
    ...(await listPeoplePages({ get, post }, seeded.large)),
    ...(await listPages(get, 'small', seeded.small)),
  ]
  const pages: Timing[] = []
  for (const [name, path] of wanted) pages.push(await measure(name, path, get))
  const deliveries: Timing[] = []
  for (const [name, path] of await listDeliveryPages(get, seeded.mailing))
    deliveries.push(await measure(name, path, get))
  const authorised: Get = (path) => fetch(service.url + path, { headers: { Authorization: `Bearer ${seeded.apiKey}` } })
  const list = await measure('GET 20 of 10,000,000', `/api/v1/events?app=${seeded.small}&limit=20`, authorised)
  const heaviest = await weigh(get, service, `/apps/${seeded.large}/events`)
  for (const { name, p50, p99, bytes } of [...pages, ...deliveries, list])
    console.log(
      `${name.padEnd(36)} p50 ${p50.toFixed(1).padStart(6)} ms  p99 ${p99.toFixed(1).padStart(6)} ms  ${bytes} B`,
    )
  console.log(`script and style of Events, packed: ${heaviest} B`)
  const missed = pages.filter(({ p50, p99 }) => p50 > PAGE_BARS.p50 || p99 > PAGE_BARS.p99).map(({ name }) => name)
  missed.push(...deliveries.filter(({ p50 }) => p50 > DELIVERIES_MS).map(({ name }) => name))
  if (list.p50 > LIST_MS) missed.push(list.name)
  if (heaviest > ASSET_BYTES) missed.push('script and style')
  console.log(missed.length === 0 ? 'every bar is reached' : `MISSED: ${missed.join(', ')}`)
  process.exitCode = missed.length === 0 ? 0 : 1
} finally {
  await service.stop()
  logs.remove()
}
