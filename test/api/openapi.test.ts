import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import SwaggerParser from '@apidevtools/swagger-parser'
import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { EXAMPLES } from '../../src/api/examples.ts'
import * as answers from '../../src/http/answer-schemas.ts'
import * as messageAnswers from '../../src/api/message-answers.ts'
import { errorCode, type RefusalCode, REFUSALS } from '../../src/core/refusals.ts'
import { PRESENCE_MS } from '../../src/visits/presence.ts'
import { MINUTE } from '../durations.ts'
import * as schemas from '../inputs.ts'
import { publicId } from '../../src/core/ids.ts'
import { API, BATCH, CONTACTS, createTestServer, EVENTS, type Given, type TestServer } from '../helper.ts'
import { createMessaging, messageOf } from '../messaging.ts'
import { joinFirst } from '../mcp/client.ts'

if (!FormatRegistry.Has('date-time')) FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))

type Media = { 'application/json': { schema: Record<string, unknown>; example?: unknown } }
type Operation = {
  operationId: string
  summary: string
  description?: string
  parameters: { name: string; in: string; schema: object; description: string }[]
  requestBody?: { required: boolean; content: Media }
  responses: Record<string, { description: string; headers: object; content: Media }>
}
type Document = {
  openapi: string
  info: Record<string, unknown>
  servers: { url: string }[]
  security: object[]
  components: { securitySchemes: object; schemas: Record<string, unknown> }
  paths: Record<string, Record<string, Operation>>
}

const readAnswer = async (response: Response) => ({
  status: response.status,
  headers: Object.fromEntries(response.headers) as Record<string, string | undefined>,
  bytes: Buffer.from(await response.arrayBuffer()),
})

const BOUNCES = '/hooks/bounces/{app}'
const DELIVERIES = `${API}/deliveries`
const SEND = `${API}/send`
const MESSAGES = `${API}/messages`

let server: TestServer
let document: Document
let operations: [name: string, operation: Operation][]
beforeAll(async () => {
  server = await createTestServer()
  const answer = await server.call('GET', `${API}/openapi.json`, { key: null })
  document = answer.body as unknown as Document
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): [string, Operation] => [`${method.toUpperCase()} ${path}`, one]),
  )
})
afterAll(() => server.close())

describe('the document', () => {
  test('is public JSON of OpenAPI 3.1', async () => {
    const { status, headers } = await server.call('GET', `${API}/openapi.json`, { key: null })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect([headers.get('cache-control'), headers.get('x-request-id')]).toEqual([
      'public, max-age=300',
      expect.stringMatching(/^req_/),
    ])
    expect(Object.keys(document)).toEqual(['openapi', 'info', 'servers', 'security', 'components', 'paths'])
    expect(document.openapi).toBe('3.1.0')
    expect(document.security).toEqual([{ apiKey: [] }])
    expect(document.servers).toEqual([{ url: 'http://localhost:8080' }])
    expect(document.info).toMatchObject({ title: 'Eventpost', version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
    expect(document.components.securitySchemes).toEqual({
      apiKey: { type: 'http', scheme: 'bearer', description: expect.any(String) },
      reportSignature: { type: 'apiKey', in: 'header', name: 'Eventpost-Signature', description: expect.any(String) },
      providerSignature: { type: 'apiKey', in: 'header', name: 'svix-signature', description: expect.any(String) },
    })
  })

  test('is compressed and has an ETag', async () => {
    const get = (headers: Record<string, string>) =>
      server.send(new Request(`http://localhost:8080${API}/openapi.json`, { headers }))
    const whole = Buffer.from(await (await get({})).arrayBuffer())
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const [accepted, coding, unpacked] of [
      ['gzip, deflate, br', 'br', unpack.br],
      ['gzip', 'gzip', unpack.gzip],
    ] as const) {
      const { headers, ...answer } = await readAnswer(await get({ 'Accept-Encoding': accepted }))
      expect([headers['content-encoding'], headers.vary]).toEqual([coding, 'Accept-Encoding'])
      expect(unpacked(answer.bytes).equals(whole)).toBe(true)
      expect(answer.bytes.length).toBeLessThan(whole.length / 5)
      const etag = String(headers.etag)
      const again = await readAnswer(await get({ 'Accept-Encoding': accepted, 'If-None-Match': `W/${etag}` }))
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, etag])
      expect((await get({ 'If-None-Match': etag })).status).toBe(200)
    }
    const { headers } = await readAnswer(await get({ 'Accept-Encoding': 'br;q=0' }))
    expect([headers['content-encoding'], headers['x-content-type-options']]).toEqual([undefined, 'nosniff'])
  })

  test('describes exactly the existing calls', async () => {
    const names = operations.map(([name]) => name).sort()
    expect(names).toEqual(
      [
        `DELETE ${CONTACTS}`,
        `GET ${CONTACTS}`,
        `GET ${CONTACTS}/export`,
        `GET ${EVENTS}`,
        `PATCH ${CONTACTS}`,
        `POST ${BATCH}`,
        `POST ${CONTACTS}`,
        `POST ${EVENTS}`,
        `GET ${DELIVERIES}`,
        `GET ${DELIVERIES}/{delivery}`,
        `POST ${DELIVERIES}/cancel`,
        `POST ${DELIVERIES}/send-now`,
        `POST ${DELIVERIES}/resend-failed`,
        `POST ${SEND}`,
        `GET ${MESSAGES}`,
        `POST ${MESSAGES}`,
        `GET ${MESSAGES}/{message}`,
        `GET ${MESSAGES}/{message}/preview`,
        `GET ${MESSAGES}/{message}/simulation`,
        `GET ${MESSAGES}/{message}/explanation`,
        `POST ${MESSAGES}/status`,
        `POST ${MESSAGES}/test`,
        'POST /c',
        `POST ${BOUNCES}`,
        'POST /hooks/{provider}/{app}',
        'POST /hooks/{provider}/{app}/{token}',
      ].sort(),
    )
    for (const path of [EVENTS, BATCH, CONTACTS, DELIVERIES, `${DELIVERIES}/cancel`, SEND, MESSAGES]) {
      const { headers } = await server.call('PUT', path)
      const methods = headers
        .get('allow')
        ?.split(', ')
        .filter((method) => method !== 'HEAD')
        .sort()
      expect(methods).toEqual(
        Object.keys(document.paths[path] ?? {})
          .map((method) => method.toUpperCase())
          .sort(),
      )
    }
  })

  test('references resolve, and IDs are unique', () => {
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name as string)
    }
    const ids = operations.map(([, { operationId }]) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toContain('postEventsBatch')
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z]+$/)
  })
})

describe('each call', () => {
  test('has the required parts of OpenAPI', () => {
    for (const [name, operation] of operations) {
      const { summary, parameters, requestBody, responses } = operation
      expect(summary).toMatch(/^[A-Z].*[^.]$/)
      for (const parameter of parameters) {
        expect([parameter.in, parameter.schema]).toEqual([
          expect.stringMatching(/^(query|header|path)$/),
          expect.any(Object),
        ])
        expect(parameter.description).not.toBe('')
      }
      expect(requestBody?.required ?? false).toBe(!name.startsWith('GET'))
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '500', '503']))
      expect([name, '429' in responses]).toEqual([name, !name.startsWith('POST /hooks/')])
      // an event of a batch that names no app of ours has its own result
      expect([name, '404' in responses]).toEqual([name, name !== `POST ${BATCH}`])
      for (const [status, { description, headers, content }] of Object.entries(responses)) {
        expect([status, description]).toEqual([expect.stringMatching(/^[2-5]\d\d$/), expect.stringMatching(/./)])
        expect(headers).toHaveProperty('X-Request-Id')
        const ref = { $ref: '#/components/schemas/Error' }
        const { schema } = content['application/json']
        if (Number(status) >= 400) expect(schema).toEqual(ref)
        else expect(schema).toEqual({ $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/) })
      }
    }
  })

  test('declares the headers that its answers have', async () => {
    const limits = ['RateLimit-Limit', 'RateLimit-Policy', 'RateLimit-Remaining', 'RateLimit-Reset']
    const own = ['Idempotency-Replayed', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id', ...limits]
    const body = { app: server.first.appId, email: 'headers@example.com', event: 'e' }
    const given: [string, string, Given][] = [
      ['POST', EVENTS, { body: { ...body, createContact: true } }],
      ['POST', EVENTS, { body: { ...body, email: 'nobody@example.com' } }],
      ['POST', EVENTS, { body: '{' }],
      ['POST', EVENTS, { body, key: null }],
      ['POST', BATCH, { body: { events: [body] } }],
      ['POST', CONTACTS, { body }],
      ['POST', CONTACTS, { body: '', headers: { 'Content-Type': 'text/plain' } }],
      ['PATCH', CONTACTS, { body: { ...body, tags: 1 } }],
      ['PATCH', CONTACTS, { body }],
      ['GET', `${CONTACTS}?app=${server.first.appId}`, {}],
      ['GET', `${EVENTS}?app=none`, {}],
      ['DELETE', CONTACTS, { body }],
      ['DELETE', CONTACTS, { body, key: null }],
    ]
    for (const [method, path, sent] of given) {
      const { status, headers } = await server.call(method, path, sent)
      const { headers: declared = {} } =
        document.paths[path.split('?')[0] ?? '']?.[method.toLowerCase()]?.responses[status] ?? {}
      const optional = status < 300 ? ['Idempotency-Replayed'] : []
      const found = own.filter((name) => headers.has(name)).sort()
      const promised = Object.keys(declared).filter((name) => !optional.includes(name))
      expect([method, path, status, promised.sort()]).toEqual([method, path, status, found])
    }
  })

  test('declares the Idempotency-Key where it is supported', () => {
    const taking = operations.filter(([, { parameters }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
    expect(taking.map(([name]) => name)).toEqual([
      `POST ${EVENTS}`,
      `POST ${BATCH}`,
      `POST ${CONTACTS}`,
      `PATCH ${CONTACTS}`,
      `POST ${DELIVERIES}/cancel`,
      `POST ${DELIVERIES}/send-now`,
      `POST ${SEND}`,
      `POST ${MESSAGES}`,
      `POST ${MESSAGES}/status`,
    ])
    for (const [, { responses }] of taking) expect(responses).toContainKeys(['409', '422'])
  })

  test('says how long a person without a leave counts as present', () => {
    const visit = Object.values(document.paths)
      .flatMap(Object.values)
      .find((one) => one.operationId === 'reportVisit')
    expect(visit?.description).toContain(
      `Without a \`leave\`, they count as away after ${PRESENCE_MS / MINUTE} minutes without a report`,
    )
  })

  test('lists its refusals, and the guide explains all', () => {
    const said = JSON.stringify(operations)
    // an address or a method that is no call's belongs to none
    const ofNoCall: RefusalCode[] = ['not_found', 'method_not_allowed']
    for (const code of answers.ERROR_CODES) {
      const { status, message } = REFUSALS[code]
      expect(document.info.description).toContain(`| ${status} | \`${code}\` | ${message} |`)
      if (!ofNoCall.includes(code)) expect(said).toContain(`\`${errorCode(code)}\`: `)
    }
  })

  test('links to the documentation by its path, not relative to a page', () => {
    const links = Array.from(JSON.stringify(document).matchAll(/\]\(([\w/][^)\s]*)\)/g), ([, target]) => target)
    expect(links).toContain('/docs/retention')
    expect(links.filter((target) => !target?.startsWith('/docs/'))).toEqual([])
  })

  test('describes refusals as the call answers them', () => {
    const saidOf = (name: string, status: string): unknown =>
      operations.find(([one]) => one === name)?.[1].responses[status]?.description
    expect(saidOf(`POST ${MESSAGES}`, '403')).toContain(
      '`insufficient_scope`: This call requires a key with scope `manage`.',
    )
    expect(saidOf(`GET ${CONTACTS}`, '404')).toContain(
      '`contact_not_found`: This app has no person with this email. Check',
    )
    expect(saidOf(`POST ${SEND}`, '404')).toContain('Send `createContact: true` to add the person.')
    expect(saidOf(`POST ${DELIVERIES}/cancel`, '409')).toContain('`delivery_in_use`: This email is no longer waiting')
    expect(saidOf('POST /c', '413')).toBe('`too_large`: The body is too large. Send at most 32 KB.')
    expect(saidOf(`POST ${BOUNCES}`, '413')).toBe('`too_large`: The report is too large. Send at most 16 KB.')
    expect(saidOf('POST /hooks/{provider}/{app}', '401')).toContain(
      '`signature_expired`: This webhook was signed too long',
    )
  })
})

test('a validator of OpenAPI finds nothing wrong', async () => {
  const { text } = await server.call('GET', `${API}/openapi.json`, { key: null })
  const { info } = await SwaggerParser.validate(JSON.parse(text))
  // an SPDX expression, which tools read
  expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
})

test('inputs and answers have named types, with one for a person and one for an event', () => {
  const { schemas: named } = document.components
  for (const [name, { requestBody }] of operations) {
    if (requestBody)
      expect([name, requestBody.content['application/json'].schema]).toEqual([name, { $ref: expect.any(String) }])
  }
  expect(Object.keys(named)).toEqual(
    expect.arrayContaining([
      'EventInput',
      'BatchInput',
      'ContactInput',
      'ContactUpdateInput',
      'VisitReport',
      'BounceReport',
    ]),
  )
  const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  for (const name of ['ContactAdded', 'ContactSaved', 'ContactFound'])
    expect(named[name]).toMatchObject({ properties: { contact: refTo('Contact') } })
  expect(named.ContactPage).toMatchObject({ properties: { data: { items: refTo('Contact') } } })
  expect(named.EventPage).toMatchObject({ properties: { data: { items: refTo('Event') } } })
})

test('no schema makes typed clients fall back to "anything"', () => {
  const loose: unknown[] = []
  JSON.stringify(document, (_, value) => {
    const options: unknown[] = value?.anyOf ?? value?.oneOf ?? []
    loose.push(
      ...options.filter((one) => !('type' in Object(one)) && !('$ref' in Object(one)) && !('const' in Object(one))),
    )
    return value
  })
  expect(loose).toEqual([])
})

describe('examples', () => {
  /** As a query has them. */
  const withNumbers = (send: object) =>
    Object.fromEntries(
      Object.entries(send).map(([name, value]) => [name, ['limit', 'days'].includes(name) ? Number(value) : value]),
    )

  const PAIRS: [keyof typeof EXAMPLES, TSchema, TSchema][] = [
    ['postEvent', schemas.EventInput, answers.EventAnswer],
    ['postBatch', schemas.BatchInput, answers.BatchAnswer],
    ['getEvents', schemas.EventQuery, answers.EventPage],
    ['postContact', schemas.ContactInput, answers.ContactAddedAnswer],
    ['patchContact', schemas.ContactUpdateInput, answers.ContactSavedAnswer],
    ['getContacts', schemas.ContactQuery, answers.ContactFoundOrPage],
    ['exportContact', schemas.PersonQuery, answers.PersonExport],
    ['deleteContact', schemas.ContactErase, answers.ContactEraseAnswer],
    ['postSend', schemas.SendInput, answers.SendAnswer],
    ['getDeliveries', schemas.DeliveryQuery, answers.DeliveryPage],
    ['getDelivery', schemas.AppQuery, answers.DeliveryFoundAnswer],
    ['cancelDelivery', schemas.DeliveryInput, answers.DeliveryAnswer],
    ['sendDelivery', schemas.DeliveryInput, answers.DeliveryAnswer],
    ['resendFailed', schemas.FailedEmails, answers.ResentAnswer],
    ['getMessages', schemas.MessagesQuery, messageAnswers.MessagePage],
    ['postMessage', schemas.MessageSave, messageAnswers.MessageCreatedAnswer],
    ['getMessage', schemas.AppQuery, messageAnswers.MessageFoundAnswer],
    ['previewMessage', schemas.PreviewQuery, messageAnswers.PreviewAnswer],
    ['simulateMessage', schemas.SimulationQuery, messageAnswers.SimulationAnswer],
    ['explainMessage', schemas.ExplanationQuery, messageAnswers.ExplanationAnswer],
    ['postStatus', schemas.MessageStatusInput, messageAnswers.MessageStatusAnswer],
    ['postTest', schemas.MessageTestInput, messageAnswers.TestAnswer],
    ['postVisit', schemas.VisitReport, answers.VisitAnswer],
    ['postBounce', schemas.BounceReport, answers.BounceAnswer],
  ]
  test.each(PAIRS)('%s has the shape of its schemas', (name, sent, answered) => {
    const { send, answer } = EXAMPLES[name]
    const query = withNumbers(send)
    expect([...TypeCompiler.Compile(sent).Errors(query)]).toEqual([])
    expect([...TypeCompiler.Compile(answered).Errors(answer)]).toEqual([])
  })

  /** Ids and times are the service's own. */
  const shapeOf = (answer: object, appId: string): string =>
    JSON.stringify(answer)
      .replaceAll(/\b(con|evt|msg|dlv)_[0-9a-z]{11}/g, '$1_')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
      .replaceAll(/\d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC/g, 'time')
      .replaceAll(appId, 'app')
      .replaceAll('app.first.example', 'app.example.com')

  /** Their answers depend on the calls before. */
  const ALTERED: ReadonlySet<keyof typeof EXAMPLES> = new Set(['getContacts', 'patchContact', 'exportContact'])

  test('requests of examples get the documented answers', async () => {
    const app = EXAMPLES.postEvent.send.app
    await server.call('POST', CONTACTS, { body: { app: server.first.appId, email: 'grace@example.com' } })
    await server.call('DELETE', CONTACTS, { body: { app: server.first.appId, email: 'grace@example.com' } })
    const messaging = await createMessaging(server)
    await messaging.put(messageOf({ name: EXAMPLES.getDeliveries.answer.data[0].message, wait: { minutes: 10 } }))
    const waiting = async () => publicId('dlv', (await messaging.deliveries()).at(-1)?.id ?? 0)
    const calls: [keyof typeof EXAMPLES, string, string, number][] = [
      ['postEvent', 'POST', EVENTS, 202],
      ['getEvents', 'GET', EVENTS, 200],
      ['getDeliveries', 'GET', DELIVERIES, 200],
      ['sendDelivery', 'POST', `${DELIVERIES}/send-now`, 200],
      ['cancelDelivery', 'POST', `${DELIVERIES}/cancel`, 200],
      ['deleteContact', 'DELETE', CONTACTS, 200],
      ['postContact', 'POST', CONTACTS, 201],
      ['deleteContact', 'DELETE', CONTACTS, 200],
      ['postBatch', 'POST', BATCH, 207],
      ['postContact', 'POST', CONTACTS, 200],
      ['patchContact', 'PATCH', CONTACTS, 200],
      ['getContacts', 'GET', CONTACTS, 200],
      ['exportContact', 'GET', `${CONTACTS}/export`, 200],
      ['getDelivery', 'GET', `${DELIVERIES}/{delivery}`, 200],
      ['deleteContact', 'DELETE', CONTACTS, 200],
      ['postSend', 'POST', SEND, 202],
    ]
    for (const [name, method, path, status] of calls) {
      const text = JSON.stringify(EXAMPLES[name].send).replaceAll(app, server.first.appId)
      const sent = text.replaceAll('app.example.com', 'app.first.example')
      const send = JSON.parse(sent.includes('dlv_') ? sent.replace(/\bdlv_\w+/, await waiting()) : sent)
      if (name === 'getDelivery') {
        await messaging.event()
        server.clock.tick(10 * MINUTE)
        await messaging.decide()
      }
      const query = method === 'GET' ? `?${new URLSearchParams(send)}` : ''
      const given = method === 'GET' ? {} : { body: send }
      const answer = await server.call(method, path.replace('{delivery}', await waiting()) + query, given)
      expect([name, answer.status]).toEqual([name, status])
      const isExact = !(name === 'postContact' && status === 200) && !ALTERED.has(name)
      if (isExact) expect(shapeOf(answer.body, server.first.appId)).toBe(shapeOf(EXAMPLES[name].answer, app))
    }
  })

  test('requests of examples about messages get the documented answers', async () => {
    const { first } = server
    const { apiKey } = await server.makeKey('manage')
    await joinFirst(server)
    const ids = { message: '', token: '' }
    const call = async (name: keyof typeof EXAMPLES, method: string, path: string, status: number) => {
      const app = EXAMPLES.postEvent.send.app
      const text = JSON.stringify(EXAMPLES[name].send)
        .replaceAll(app, first.appId)
        .replaceAll(/msg_\w+/g, ids.message)
        .replaceAll(EXAMPLES.previewMessage.answer.token, ids.token)
        .replaceAll('grace@example.com', 'first@owner.example')
        .replaceAll('Pictures ready', 'Others ready')
      const send = JSON.parse(text) as Record<string, string>
      const isRead = method === 'GET'
      const url = path.replace('{message}', ids.message) + (isRead ? `?${new URLSearchParams(send)}` : '')
      const answer = await server.call(method, url, { key: apiKey, ...(isRead ? {} : { body: send }) })
      expect([name, answer.status, answer.body.error]).toEqual([name, status, undefined])
      const documented: object = EXAMPLES[name].answer
      expect([name, Object.keys(answer.body)]).toEqual([name, Object.keys(documented)])
      return answer.body as Record<string, unknown>
    }
    const saved = await call('postMessage', 'POST', MESSAGES, 201)
    expect(shapeOf(saved, first.appId)).toBe(shapeOf(EXAMPLES.postMessage.answer, first.appId))
    ids.message = String(saved.messageId)
    await server.call('POST', EVENTS, {
      body: {
        app: first.appId,
        email: 'ada@example.com',
        event: 'results_ready',
        createContact: true,
        properties: { headline: 'Ready.' },
      },
    })
    const preview = await call('previewMessage', 'GET', `${MESSAGES}/{message}/preview`, 200)
    expect(Object.keys(preview.mail as object)).toEqual(Object.keys(EXAMPLES.previewMessage.answer.mail))
    ids.token = String(preview.token)
    await call('simulateMessage', 'GET', `${MESSAGES}/{message}/simulation`, 200)
    await call('explainMessage', 'GET', `${MESSAGES}/{message}/explanation`, 200)
    await call('getMessage', 'GET', `${MESSAGES}/{message}`, 200)
    await call('getMessages', 'GET', MESSAGES, 200)
    await call('postTest', 'POST', `${MESSAGES}/test`, 200)
    const turned = await call('postStatus', 'POST', `${MESSAGES}/status`, 200)
    expect(shapeOf(turned, first.appId)).toBe(shapeOf(EXAMPLES.postStatus.answer, first.appId))
    await call('resendFailed', 'POST', `${DELIVERIES}/resend-failed`, 200)
  })
})
