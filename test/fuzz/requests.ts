/** Requests of programs to every interface, as plain data: the same seed makes the same ones. */
import fc from 'fast-check'
import { EXAMPLES } from '../../src/api/examples.ts'
import { HOOK_PROVIDERS, type HookProvider } from '../../src/accounts/hook-secrets.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import type { Document, Operation } from '../api/described-answers.ts'
import type { ToolRow } from '../mcp/client.ts'
import { sesBounce, sesComplaint, sesDelivery, sesEvent } from '../mail/sns.ts'
import {
  brevoEvent,
  HARD,
  mailgunEvent,
  postmarkBounce,
  postmarkComplaint,
  postmarkDelivery,
  resendEvent,
  sendgridEvents,
} from '../mail/webhooks.ts'
import { HOSTILE_ESCAPES } from './hostile.ts'
import { alteredOf, hostileText, hostileValue, type Making, type Schema, valuesOf } from './schema-values.ts'
import { PEOPLE } from './two-accounts.ts'

export type Caller = 'standard' | 'manage' | 'ingest' | 'revoked' | 'wrong' | 'nobody'
export type Body = { json: unknown } | { text: string } | { bytes: number[] } | null
/** `«first.app»` and the like stand for IDs, which differ from run to run. */
export type Asked = {
  /** the template of openapi.json, `/mcp`, or `other` */
  call: string
  method: string
  path: string
  query: [name: string, value: unknown][]
  by: Caller
  headers: Record<string, string>
  body: Body
  /** how the body is signed, if the call takes signed bodies */
  signed: 'report' | 'bounces' | HookProvider | null
}

const several = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `«${name}.${index}»`)

const KNOWN: Record<string, readonly string[]> = {
  app: [...Array.from({ length: 8 }, () => '«first.app»'), '«second.app»', '«first.site»'],
  site: [...Array.from({ length: 6 }, () => '«first.site»'), '«second.site»', '«first.app»'],
  email: [
    'abe@example.com',
    'ann@example.com',
    PEOPLE.both,
    '«second.email»',
    'new@example.com',
    'blocked@example.com',
  ],
  to: ['first@owner.example', 'second@owner.example'],
  messageId: [...several('first.message', 6), ...several('second.message', 3)],
  deliveryId: [...several('first.delivery', 9), ...several('second.delivery', 5), ...several('seen.delivery', 4)],
  contactId: [...several('first.contact', 3), ...several('second.contact', 2)],
  event: ['results_ready', 'later', 'signed_up'],
  cursor: ['«seen.cursor.0»', '«seen.cursor.1»', '«seen.cursor.2»'],
  token: ['«seen.token.0»', '«seen.token.1»', '«first.hook.0»'],
  basedOn: ['«first.basedOn.0»', '«seen.updatedAt.0»', '«seen.updatedAt.1»'],
  message: [...several('first.name', 6), '«second.name.0»'],
  page: DOC_PAGES.map(({ slug }) => slug).slice(0, 12),
  provider: [...HOOK_PROVIDERS, 'nobody'],
  ip: ['203.0.113.7', '2001:db8::1'],
  occurredAt: ['2026-05-15T12:00:00Z', '2026-05-15T14:00:00+02:00', '2026-05-01T00:00:00Z'],
  signature: ['«signature»'],
  id: ['load.1', 'load.2', 'load.3'],
}
/** Its names of paths are those of bodies, but for these. */
const SAME_AS: Record<string, string> = { newsletter: 'app', delivery: 'deliveryId' }

const known = (name: string): readonly string[] => {
  const same = SAME_AS[name] ?? name
  return Object.hasOwn(KNOWN, same) ? (KNOWN[same] ?? []) : []
}

const CALLERS = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Caller>('manage') },
  { weight: 3, arbitrary: fc.constant<Caller>('standard') },
  { weight: 1, arbitrary: fc.constantFrom<Caller>('ingest', 'revoked', 'wrong', 'nobody') },
)

/** What a header can hold. */
const headerText = fc
  .oneof(
    hostileText,
    fc.constantFrom('application/json', 'text/html', '*/*', 'gzip', 'null', 'https://evil.example', '1'),
  )
  .map((text) => text.replaceAll(/[^\x20-\x7e]/g, '_').slice(0, 400))

const idempotencyKey = fc.oneof(
  fc.integer({ min: 0, max: 400 }).map((number) => `key-${number}`),
  fc.constantFrom('x'.repeat(255), 'x'.repeat(256), ' ', 'é'),
  headerText,
)

const HEADERS = [
  'Accept',
  'Authorization',
  'Content-Encoding',
  'Content-Type',
  'Eventpost-Signature',
  'Forwarded',
  'Host',
  'If-None-Match',
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'Origin',
  'Range',
  'Referer',
  'Sec-Fetch-Site',
  'User-Agent',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-HTTP-Method-Override',
  'svix-id',
  'svix-signature',
  'svix-timestamp',
]

const headersOf = (type: string, takesKey: boolean): fc.Arbitrary<Record<string, string>> => {
  const given: Record<string, string> = type === '' ? {} : { 'Content-Type': type }
  const plain = fc.constant(given)
  const odd = fc
    .dictionary(fc.constantFrom(...HEADERS), headerText, { minKeys: 1, maxKeys: 2 })
    .map((more) => ({ ...given, ...more }))
  const keyed = idempotencyKey.map((key) => ({ ...given, 'Idempotency-Key': key }))
  return fc.oneof(
    { weight: 8, arbitrary: plain },
    { weight: 1, arbitrary: odd },
    ...(takesKey ? [{ weight: 3, arbitrary: keyed }] : []),
  )
}

const BOM = [0xef, 0xbb, 0xbf]
const bytesOf = (text: string): number[] => [...new TextEncoder().encode(text)]

/** What is not the JSON that anybody expects. */
const strangeBody: fc.Arbitrary<Body> = fc.oneof(
  fc.constantFrom<Body>(
    { text: '' },
    { text: ' ' },
    { text: '{' },
    { text: '{}{}' },
    { text: '[]' },
    { text: 'null' },
    { text: '"x"' },
    { text: '{"app":"«first.app»","app":"«second.app»","email":"a@b.example","event":"x"}' },
    { text: `{"app":${'['.repeat(20_000)}` },
    { text: `{"app":"«first.app»","email":"abe@example.com","properties":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}` },
    { text: `{"app":"«first.app»","a":"${'x'.repeat(70_000)}"}` },
    { text: '{"__proto__":{"app":"«first.app»"},"constructor":{"prototype":{"email":"abe@example.com"}}}' },
    { bytes: [...BOM, ...bytesOf('{}')] },
    { bytes: [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d] },
    { bytes: [0xed, 0xa0, 0x80] },
    { bytes: [0] },
    { text: '{"app":"\\ud800","email":"\\udfff@example.com"}' },
    null,
  ),
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => ({ text })),
  hostileValue.map((json) => ({ json })),
)

const bodyOf = (schema: Schema, example: unknown, making: Making): fc.Arbitrary<Body> =>
  fc.oneof(
    { weight: 14, arbitrary: valuesOf(schema, making).map((json) => ({ json })) },
    { weight: 3, arbitrary: alteredOf(example).map((json) => ({ json })) },
    { weight: 1, arbitrary: strangeBody },
  )

const segment = (name: string): fc.Arbitrary<string> => {
  const all = known(name)
  const strange = fc.oneof(
    hostileText.map((text) => encodeURIComponent(text.toWellFormed())),
    fc.constantFrom(...HOSTILE_ESCAPES),
  )
  return all.length === 0 ? strange : fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...all) }, strange)
}

/** Elsewhere, `message` is a name or a whole message. */
const IN_PATHS: Record<string, string> = { '{message}': 'messageId' }

const pathOf = (template: string): fc.Arbitrary<string> => {
  const parts = template.split('/')
  return fc
    .tuple(
      ...parts.map((part) => (part.startsWith('{') ? segment(IN_PATHS[part] ?? part.slice(1, -1)) : fc.constant(part))),
    )
    .map((made) => made.join('/'))
}

/** Either name of the app is required. */
const APP_NAMES: Schema = { properties: { app: {}, newsletter: {} } }

function queryOf({ parameters = [] }: Operation, making: Making): fc.Arbitrary<[string, unknown][]> {
  const all = parameters.filter((one) => one.in === 'query')
  if (all.length === 0) return fc.constant([])
  const properties = Object.fromEntries(all.map(({ name, schema }) => [name, schema as Schema]))
  const required = all.filter((one) => one.required).map(({ name }) => name)
  const pairs = valuesOf({ type: 'object', properties, required, not: APP_NAMES }, making).map((value) =>
    Object.entries(Object(value) as object),
  )
  const extra = fc.tuple(fc.constantFrom(...all.map(({ name }) => name), 'x', '__proto__'), hostileText)
  return fc.oneof(
    { weight: 8, arbitrary: pairs },
    { weight: 1, arbitrary: fc.tuple(pairs, extra).map(([own, one]) => [...own, one]) },
  )
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

const ERASED = ['new@example.com', '«second.email»']

const signedAs = (template: string): Asked['signed'] =>
  template === '/c' ? 'report' : template === '/hooks/bounces/{app}' ? 'bounces' : null

/** All calls of openapi.json, but for webhooks of email providers, whose formats are their own. */
export function callsOf({ paths, components }: Document): fc.Arbitrary<Asked>[] {
  const making: Making = {
    known,
    resolve: (ref) => components.schemas[ref.split('/').at(-1) ?? ''] as Schema,
  }
  // otherwise nobody is left soon
  const erasing: Making = { ...making, known: (name) => (name === 'email' ? ERASED : known(name)) }
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([verb, operation]) => {
      if (template.startsWith('/hooks/{provider}')) return []
      const content = operation.requestBody?.content['application/json']
      const usual = verb.toUpperCase()
      const signed = signedAs(template)
      const type = template === '/c' ? 'text/plain' : content ? 'application/json' : ''
      return fc.record<Asked>({
        call: fc.constant(template),
        method: fc.oneof({ weight: 40, arbitrary: fc.constant(usual) }, fc.constantFrom(...METHODS)),
        path: pathOf(template),
        query: queryOf(operation, making),
        by: signed === null ? CALLERS : fc.constant('nobody'),
        headers: headersOf(type, content !== undefined && signed === null),
        body: content
          ? bodyOf(content.schema as Schema, ownExample(content.example), verb === 'delete' ? erasing : making)
          : fc.constant(null),
        signed: fc.oneof({ weight: 8, arbitrary: fc.constant(signed) }, fc.constant(null)),
      })
    }),
  )
}

/** Examples name apps and people that nobody has. */
const ownExample = (example: unknown): unknown =>
  JSON.parse(
    JSON.stringify(example)
      .replaceAll(EXAMPLES.postEvent.send.app, '«first.app»')
      .replaceAll(/site_\w+/g, '«first.site»')
      .replaceAll(/msg_\w+/g, '«first.message.0»')
      .replaceAll(/dlv_\w+/g, '«first.delivery.0»'),
  )

const ABOUT = { id: '«first.delivery.0»', to: 'abe@example.com' }
const OTHER = { id: '«second.delivery.0»', to: '«second.email»' }

const bodiesOf = (...webhooks: (string | { body: string })[]): unknown[] =>
  webhooks.map((one) => JSON.parse(typeof one === 'string' ? one : one.body) as unknown)
const MAILGUN = { key: 'x'.repeat(16), at: 0, token: 'x' }

const HOOKS: Record<HookProvider, unknown[]> = {
  postmark: [ABOUT, OTHER].flatMap((about) =>
    bodiesOf(postmarkBounce(about), postmarkComplaint(about), postmarkDelivery(about)),
  ),
  brevo: [ABOUT, OTHER].flatMap((about) =>
    bodiesOf(brevoEvent(about, 'hard_bounce', { reason: 'x' }), brevoEvent(about, 'spam')),
  ),
  resend: [ABOUT, OTHER].flatMap((about) =>
    bodiesOf(resendEvent('email.bounced', about, { bounce: HARD }), resendEvent('email.delivered', about)),
  ),
  mailgun: [ABOUT, OTHER].flatMap((about) =>
    bodiesOf(mailgunEvent(about, { event: 'failed', severity: 'permanent', reason: 'bounce' }, MAILGUN)),
  ),
  sendgrid: bodiesOf(
    sendgridEvents([
      { about: ABOUT, event: 'bounce', type: 'bounce', reason: '550', status: '5.1.1' },
      { about: OTHER, event: 'spamreport' },
    ]),
  ),
  ses: [ABOUT, OTHER].flatMap((about) => [
    sesEvent(about, 'Bounce', sesBounce(about, 'Permanent', 'General')),
    sesEvent(about, 'Complaint', sesComplaint(about, 'abuse')),
    sesEvent(about, 'Delivery', sesDelivery(about)),
  ]),
}
const TOKENS: Partial<Record<HookProvider, string>> = {
  postmark: '/«first.hook.0»',
  brevo: '/«first.hook.1»',
  ses: '/«first.hook.2»',
}

/** Webhooks of email providers, in their formats. */
export const hookCalls: fc.Arbitrary<Asked>[] = HOOK_PROVIDERS.map((provider) => {
  const path = `/hooks/${provider}/«first.app»${TOKENS[provider] ?? ''}`
  const call = `/hooks/{provider}/{app}${TOKENS[provider] ? '/{token}' : ''}`
  return fc.record<Asked>({
    call: fc.constant(call),
    method: fc.oneof({ weight: 40, arbitrary: fc.constant('POST') }, fc.constantFrom(...METHODS)),
    path: fc.oneof(
      { weight: 8, arbitrary: fc.constant(path) },
      pathOf(call),
      fc.constant(path.replace('«first.app»', '«second.app»')),
    ),
    query: fc.constant([]),
    by: fc.constant('nobody'),
    headers: headersOf('application/json', false),
    body: fc.oneof(
      { weight: 8, arbitrary: fc.oneof(...HOOKS[provider].map(alteredOf)).map((json) => ({ json })) },
      strangeBody,
    ),
    signed: fc.oneof({ weight: 8, arbitrary: fc.constant(provider) }, fc.constant(null)),
  })
})

const NARROWING: [string, unknown][][] = [
  ...Array.from({ length: 14 }, () => []),
  [['read_only', 'true']],
  [['app', '«first.app»']],
  [['app', '«second.app»']],
  [['tools', 'get_contact,send_event']],
  [['tools', '__proto__']],
  [['read_only', '%']],
]

const mcpCall = (message: fc.Arbitrary<Body>): fc.Arbitrary<Asked> =>
  fc.record<Asked>({
    call: fc.constant('/mcp'),
    method: fc.oneof({ weight: 40, arbitrary: fc.constant('POST') }, fc.constantFrom(...METHODS)),
    path: fc.constant('/mcp'),
    query: fc.constantFrom(...NARROWING),
    by: CALLERS,
    headers: headersOf('application/json', false),
    body: message,
    signed: fc.constant(null),
  })

const RPC_IDS = fc.oneof(
  { weight: 14, arbitrary: fc.constant<unknown>(1) },
  fc.constantFrom<unknown>('a', 0, -1, 2 ** 53, '', '__proto__', null, 1.5, {}),
)

const asked = (method: fc.Arbitrary<string>, params: fc.Arbitrary<unknown>): fc.Arbitrary<Body> =>
  fc
    .record(
      { jsonrpc: fc.constant('2.0'), id: RPC_IDS, method, params },
      { requiredKeys: ['jsonrpc', 'method', 'params'] },
    )
    .map((json) => ({ json }))

const META = fc.constantFrom<object>(
  ...Array.from({ length: 12 }, () => ({})),
  { _meta: { progressToken: 1 } },
  { _meta: { progressToken: '__proto__' } },
  { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
  { _meta: null },
)

/** Every tool with arguments made from its schema, and the other methods of the protocol. */
export function mcpCalls(tools: ToolRow[], uris: string[]): fc.Arbitrary<Asked>[] {
  const called = tools.map(({ name, inputSchema }) => {
    const args = valuesOf(inputSchema as Schema, { known })
    const params = fc.tuple(args, META).map(([given, meta]) => ({ name, arguments: given, ...meta }))
    return mcpCall(asked(fc.constant('tools/call'), params))
  })
  const uri = fc.oneof(
    fc.constantFrom(...uris, 'eventpost://apps/«second.app»/setup', 'eventpost://docs/'),
    hostileText,
  )
  const params: [method: string, params: fc.Arbitrary<unknown>][] = [
    [
      'initialize',
      alteredOf({ protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }),
    ],
    ['tools/list', alteredOf({ cursor: 'x' })],
    ['tools/call', fc.record({ name: hostileText, arguments: hostileValue })],
    ['resources/list', alteredOf({ cursor: 'x' })],
    ['resources/templates/list', alteredOf({ cursor: 'x' })],
    ['resources/read', uri.map((one) => ({ uri: one }))],
    ['prompts/list', alteredOf({ cursor: 'x' })],
    ['prompts/get', alteredOf({ name: 'set_up_app', arguments: { app: '«first.app»', language: 'node' } })],
    [
      'prompts/get',
      alteredOf({ name: 'find_out_why_no_mail', arguments: { app: '«second.app»', email: 'abe@example.com' } }),
    ],
    [
      'completion/complete',
      alteredOf({ ref: { type: 'ref/prompt', name: 'set_up_app' }, argument: { name: 'app', value: 'app_' } }),
    ],
    ['ping', hostileValue],
    ['notifications/initialized', hostileValue],
    ['notifications/cancelled', alteredOf({ requestId: 1, reason: 'x' })],
    ['logging/setLevel', alteredOf({ level: 'debug' })],
    ['server/discover', fc.constant({})],
  ]
  const others = params.map(([method, given]) => mcpCall(asked(fc.constant(method), given)))
  const strange = fc.oneof(
    asked(hostileText, hostileValue),
    strangeBody,
    fc.constant<Body>({ json: [{ jsonrpc: '2.0', id: 1, method: 'ping' }] }),
  )
  return [...called, ...others, mcpCall(strange)]
}

const OTHER_PATHS = [
  '/s.js',
  '/s.00000000.js',
  '/s.%00.js',
  '/api/v1/openapi.json',
  '/api/v1/docs',
  '/api/v1/',
  '/api/v2/events',
  '/api/v1/events/',
  '/api/v1/../../etc/passwd',
  '/assets/',
  '/assets/%2e%2e/%2e%2e/package.json',
  '/healthz',
  '/readyz',
  '/livez',
  '/metrics',
  '/robots.txt',
  '/favicon.ico',
  '/docs/search?q=%27',
  '/docs/events',
  '/docs/__proto__',
  '/docs/api/postEvent',
  '/llms.txt',
  '/u/«first.link.0»',
  '/u/«first.link.1»/all',
  '/u/«first.link.1»/undo',
  '/u/«first.link.1»/topics',
  '/u/«first.link.0»/look.css',
  '/confirm/«first.confirm.0»',
  '/confirm/«first.confirm.0»/again',
  '/setup?token=x',
  '/sign-in',
  '/apps/«second.app»/people',
  '/apps/«first.app»/events',
]

/** Everything else: the script, files, health, documentation, links of emails, addresses that nothing answers. */
export const otherCalls: fc.Arbitrary<Asked> = fc.record<Asked>({
  call: fc.constant('other'),
  method: fc.constantFrom('GET', 'GET', 'GET', 'POST', ...METHODS),
  path: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...OTHER_PATHS) },
    fc
      .tuple(
        fc.constantFrom('', '/s.', '/u', '/confirm', '/docs', '/assets', '/api/v1', '/hooks', '/apps'),
        segment(''),
      )
      .map(([a, b]) => `${a}/${b}`),
  ),
  query: fc.constant([]),
  by: CALLERS,
  headers: headersOf('application/x-www-form-urlencoded', false),
  body: fc.oneof(
    fc.constantFrom<Body>({ text: 'List-Unsubscribe=One-Click' }, { text: 'topic=1&topic=%ff' }, null),
    strangeBody,
  ),
  signed: fc.constant(null),
})
