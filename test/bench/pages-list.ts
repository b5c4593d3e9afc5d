/** Every page of the dashboard, with every filter. */
import { NEARLY, RARE_MESSAGE, type Seeded } from './seeded.ts'

export type Get = (path: string) => Promise<Response>
export type Post = (path: string, fields: Record<string, string>) => Promise<Response>
/** `fields`: of a form that is sent. */
export type Page = { name: string; path: string; fields?: Record<string, string> }
type Browser = { get: Get; post: Post }

const DAY_MS = 86_400_000

export async function listPages(browser: Browser, { large, small, mailing }: Seeded): Promise<Page[]> {
  const { get } = browser
  return [
    ...(await listAppPages(get, 'large', large)),
    ...(await listEventPages(get, large)),
    ...(await listPeoplePages(browser, large)),
    ...(await listMessagePages(get, 'large', large)),
    ...(await listAppPages(get, 'small', small)),
    ...(await listMessagePages(get, 'small', small)),
    ...(await listAppPages(get, 'mailing', mailing)),
    ...(await listMessagePages(get, 'mailing', mailing)),
    ...(await listDeliveryPages(get, mailing)),
    ...(await listDocPages(get)),
  ]
}

const OF_APP = [
  'overview',
  'overview/people',
  'activation',
  'events',
  'events?range=hours',
  'events?range=days',
  'events?range=weeks',
  'events?event=$page',
  'people',
  'people/new',
  'messages',
  'messages/new',
  'deliveries',
  'outbox',
  'suppressions',
  'suppressions?reason=bounced',
  'suppressions?reason=complained',
  'suppressions/new',
  'sender',
  'sender/server',
  'sender/domain',
  'sender/limits',
  'sender/rates',
  'keys',
  'keys/new',
  'requests',
  'requests?kind=all',
  'requests?kind=accepted',
  'requests?code=not_found',
  'requests?code=unknown_field',
  'requests?status=404',
  'requests?kind=all&key=nobody',
  'requests?kind=all&app=none',
  'requests?kind=all&from=2026-01-01&to=2026-01-02',
  'settings',
  'members',
  'members/new',
  'audit',
  'audit?kind=sign_ins',
  'audit?kind=changes',
  'you',
  'new-app',
]

async function listAppPages(get: Get, name: string, app: string): Promise<Page[]> {
  const pages = OF_APP.map((page) => ({ name: `${name} ${page}`, path: `/apps/${app}/${page}` }))
  // some lead elsewhere, such as Overview before the first event
  const answers = await Promise.all(pages.map(async ({ path }) => (await get(path)).status))
  return pages.filter((_, index) => answers[index] !== 303)
}

/** The address of the first link on a page whose address holds `part`; null if there is none. */
async function findLink(get: Get, page: string, part: string): Promise<string | null> {
  const html = await (await get(page)).text()
  const found = Array.from(html.matchAll(/href="([^"]+)"/g), ([, href = '']) => href.replaceAll('&amp;', '&'))
  const link = found.find((href) => href.includes(part) && href !== page) ?? null
  return link?.startsWith('?') ? page.split('?')[0] + link : link
}

/** The pages further down too, because there a slow list is slowest. */
async function withOlder(get: Get, pages: Page[], part: string): Promise<Page[]> {
  const older = pages.map(async ({ name, path }): Promise<Page[]> => {
    const next = await findLink(get, path, part)
    return next === null ? [] : [{ name: `${name}, older`, path: next }]
  })
  return [...pages, ...(await Promise.all(older)).flat()]
}

async function listEventPages(get: Get, app: string): Promise<Page[]> {
  const at = (page: string): string => `/apps/${app}/${page}`
  const lists = ['events', 'events?event=account_closed', 'events?event=paid', 'suppressions', 'requests', 'audit']
  const pages = lists.map((page) => ({ name: `list of ${page}`, path: at(page) }))
  const event = await findLink(get, at('events'), '/events/evt_')
  const person = event && (await findLink(get, event, '/people/con_'))
  const request = await findLink(get, at('requests'), '/requests/')
  const found = { event, person, 'person form': person && `${person}/edit`, request }
  const single = Object.entries(found).map(([name, path]) => {
    if (path === null) throw new Error(`no ${name}`)
    return { name, path }
  })
  return [...(await withOlder(get, pages, 'before=')), ...single]
}

/** The IDs of an app's messages by name, as the filters of a list have them. */
async function readMessages(get: Get, list: string): Promise<Map<string, string>> {
  const html = await (await get(list)).text()
  return new Map(Array.from(html.matchAll(/value="(msg_\w+)"[^>]*>([^<]+)</g), ([, id = '', name = '']) => [name, id]))
}

/** What the form of People finds, by each filter alone and by several. `message` is a name. */
const PEOPLE_FILTERS: Record<string, string>[] = [
  {},
  { search: 'person12345' },
  { search: 'Person 4242' },
  { search: 'son 777' },
  { search: 'nobody here' },
  { tag: 'beta' },
  { status: 'subscribed' },
  { status: 'unsubscribed' },
  { status: 'bounced' },
  { field: 'plan' },
  { field: 'plan', value: 'pro' },
  { event: 'results_ready', did: 'yes' },
  { event: 'results_ready', did: 'no' },
  { event: 'never_done', did: 'no' },
  { seen: '1' },
  { seen: '7' },
  { seen: '30' },
  { seen: 'before-7' },
  { seen: 'before-30' },
  { seen: 'never' },
  { tag: 'beta', event: 'signed_in', did: 'yes' },
  { tag: 'beta', event: 'signed_in', did: 'yes', seen: '1' },
  { tag: 'beta', event: 'results_ready', did: 'no', status: 'subscribed' },
  { search: 'Person 4', tag: 'beta' },
  { field: 'plan', tag: 'beta', status: 'subscribed' },
  { field: 'plan', value: 'pro', event: 'results_ready', did: 'no' },
  { emails: 'returned' },
  { emails: 'returned', days: '7' },
  { emails: 'returned', days: '30', message: 'first' },
  { emails: 'returned', days: '90', tag: 'beta', status: 'subscribed' },
  { emails: 'sent' },
  { emails: 'sent', days: '7' },
  { emails: 'sent', days: '90', message: 'first' },
  { emails: 'sent', days: '7', field: 'plan', value: 'pro' },
  { emails: 'not-sent' },
  { emails: 'not-sent', days: '7' },
  { emails: 'not-sent', days: '90', message: 'first' },
  { emails: 'not-sent', days: '30', event: 'signed_in', did: 'yes' },
  { emails: 'not-sent', days: '30', status: 'subscribed', tag: 'beta' },
  { emails: 'not-sent', seen: 'before-30' },
  ...Object.keys(NEARLY).flatMap((name): Record<string, string>[] => [
    { event: name, did: 'no' },
    { emails: 'not-sent', message: name },
    { emails: 'not-sent', days: '7', message: name },
    { event: name, did: 'no', status: 'subscribed' },
    { event: name, did: 'no', tag: 'beta' },
    { event: name, did: 'no', emails: 'not-sent', message: name },
    { event: name, did: 'no', seen: 'before-30' },
    { event: name, did: 'yes', emails: 'sent', message: name },
    { event: name, did: 'no', search: 'Person 4' },
  ]),
]

const SORTED: Record<string, string>[] = [
  {},
  { tag: 'beta' },
  { search: 'Person 42' },
  { emails: 'sent' },
  { event: 'results_ready', did: 'no' },
  ...Object.keys(NEARLY).flatMap((name): Record<string, string>[] => [
    { event: name, did: 'no' },
    { emails: 'not-sent', message: name },
  ]),
]

async function listPeoplePages({ get, post }: Browser, app: string): Promise<Page[]> {
  const path = `/apps/${app}/people`
  const messages = await readMessages(get, path)
  const idOf = (name: string): string => messages.get(name) ?? [...messages.values()][0] ?? ''
  const orders = ['name', 'email', 'seen'].flatMap((sort) => SORTED.map((filter) => ({ ...filter, sort })))
  const asked: Record<string, string>[] = [...PEOPLE_FILTERS, ...orders]
  const found = asked.map(async (fields): Promise<Page> => {
    const { message } = fields
    const to = (await post(path, message ? { ...fields, message: idOf(message) } : fields)).headers.get('location')
    if (to === null) throw new Error(`the form of People led nowhere: ${JSON.stringify(fields)}`)
    const texts = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
    return { name: `people ${texts.join(' ')}`.trim(), path: to }
  })
  return withOlder(get, await Promise.all(found), 'after=')
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
/** The longest range. */
const lastYear = (): string => `from=${dayOf(Date.now() - 365 * DAY_MS)}&to=${dayOf(Date.now())}`

/** A message's pages, and what its editor asks for while somebody types. */
async function listMessagePages(get: Get, name: string, app: string): Promise<Page[]> {
  const list = `/apps/${app}/messages`
  const message = await findLink(get, list, '/messages/msg_')
  if (message === null) throw new Error('no message')
  const ranges = ['range=7', 'range=30', 'range=90', lastYear()].map((range) => `results?${range}`)
  const pages = ['', 'versions', ...ranges].map((page) => ({
    name: `${name} message ${page.replace(/from=.*/, 'year')}`,
    path: `${message}/${page}`,
  }))
  const fields = readFields(await (await get(message)).text())
  const typed = ['', 'check', 'reach'].map((show) => ({
    name: `${name} message, typed: ${show || 'preview'}`,
    path: `${message}/preview`,
    fields: { ...fields, show },
  }))
  return [...pages.map((page) => ({ ...page, path: page.path.replace(/\/$/, '') })), ...typed]
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
const unescape = (text: string): string => text.replaceAll(/&[#\w]+;/g, (entity) => ENTITIES[entity] ?? entity)

/** What a browser would send of a page's forms: texts, checked choices and text areas. */
function readFields(html: string): Record<string, string> {
  const fields: Record<string, string> = {}
  const attribute = (tag: string, name: string): string | undefined => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]
  for (const [tag] of html.matchAll(/<input (?:[^>"]|"[^"]*")*>/g)) {
    const [name, type] = [attribute(tag, 'name'), attribute(tag, 'type')]
    const isLeftOut = (type === 'radio' || type === 'checkbox') && !/\bchecked\b/.test(tag)
    if (name !== undefined && !isLeftOut) fields[name] = unescape(attribute(tag, 'value') ?? '')
  }
  for (const [, tag = '', text = ''] of html.matchAll(/<textarea ([^>]*)>([^<]*)</g))
    fields[attribute(tag, 'name') ?? ''] = unescape(text)
  for (const [, tag = '', options = ''] of html.matchAll(/<select ([^>]*)>(.*?)<\/select>/gs)) {
    const chosen = /<option [^>]*\bselected\b[^>]*>/.exec(options)?.[0] ?? /<option [^>]*>/.exec(options)?.[0] ?? ''
    fields[attribute(tag, 'name') ?? ''] = unescape(attribute(chosen, 'value') ?? '')
  }
  return fields
}

const STATES = [
  '',
  'sent',
  'waiting',
  'failed',
  'bounced',
  'complained',
  'pending',
  'left',
  'unsent',
  'decided',
  'amiss',
]
const NARROWED = [
  'reason=seen',
  'reason=perDay',
  'reason=nothing',
  'reason=seen&state=skipped',
  'outcome=cameBack',
  'outcome=opened',
  'outcome=goal',
  'outcome=goal&state=left',
  'outcome=cameBack&rows=emails',
  'rows=emails',
  'rows=emails&days=utc&state=decided',
  `from=${dayOf(Date.now() - 7 * DAY_MS)}`,
  `from=${dayOf(Date.now() - 60 * DAY_MS)}&to=${dayOf(Date.now() - 50 * DAY_MS)}&state=failed`,
]

/** Of the app, of a message and of one that has few, by states of which there are many, few and none. */
async function listDeliveryPages(get: Get, app: string): Promise<Page[]> {
  const list = `/apps/${app}/deliveries`
  const messages = await readMessages(get, list)
  const ids = {
    'the app': '',
    'a message': messages.get('Message 7') ?? '',
    'a rare message': messages.get(RARE_MESSAGE) ?? '',
  }
  const filters = [...STATES.map((state) => `state=${state}`), ...NARROWED]
  const pages = Object.entries(ids).flatMap(([whose, message]) =>
    filters.map((filter) => ({
      name: `deliveries of ${whose}, ${filter}`,
      path: `${list}?message=${message}&${filter}`,
    })),
  )
  const single = await findLink(get, list, '/deliveries/dlv_')
  const person = single && (await findLink(get, single, '/people/con_'))
  if (single === null || person === null) throw new Error('no delivery')
  const contact = person.split('/').at(-1) ?? ''
  const outbox = await withOlder(get, [{ name: 'outbox', path: `/apps/${app}/outbox` }], 'before=')
  return [
    ...(await withOlder(get, pages, 'before=')),
    { name: 'deliveries of a person', path: `${list}?person=${contact}` },
    { name: 'delivery', path: single },
    { name: 'person with deliveries', path: person },
    ...outbox,
  ]
}

async function listDocPages(get: Get): Promise<Page[]> {
  const html = await (await get('/docs/start')).text()
  const paths = Array.from(html.matchAll(/href="(\/docs\/[\w/-]+)"/g), ([, href = '']) => href)
  const searches = ['email', 'not emailed', 'spf dkim dmarc record', 'zzz', 'a'].map(
    (text) => `/docs/search?q=${encodeURIComponent(text)}`,
  )
  return [...new Set([...paths, ...searches])].map((path) => ({ name: path, path }))
}
