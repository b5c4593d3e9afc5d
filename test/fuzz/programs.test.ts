/** A short form of `bun run fuzz`. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createAjv, type Document, readDocument } from '../api/described-answers.ts'
import { createTestServer, type TestServer } from '../helper.ts'
import { fuzzPrograms } from './programs.ts'
import { type Schema, toJson, validOf, valuesOf } from './schema-values.ts'

let server: TestServer
let document: Document
beforeAll(async () => {
  server = await createTestServer()
  document = await readDocument(server)
})
afterAll(() => server.close())

const making = () => ({
  known: () => [],
  resolve: (ref: string) => document.components.schemas[ref.split('/').at(-1) ?? ''] as Schema,
})

const inputs = (): [name: string, schema: Schema][] =>
  Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        requestBody ? [[`${method} ${path}`, requestBody.content['application/json'].schema as Schema] as const] : [],
      ),
    )
    .map(([name, schema]) => [name, schema])

test('generated values are what the schema allows, and others are what it does not allow', () => {
  const ajv = createAjv()
  for (const [name, schema] of inputs()) {
    const { $ref = '' } = schema
    const validate = ajv.compile({ ...making().resolve($ref), components: document.components })
    const valid = fc.sample(validOf(schema, making(), '', 0), { numRuns: 8, seed: 1 })
    expect([name, valid.filter((value) => !validate(JSON.parse(toJson(value))))]).toEqual([name, []])
    if (name.includes('{provider}')) continue
    const any = fc.sample(valuesOf(schema, making()), { numRuns: 30, seed: 1 })
    const refused = any.filter((value) => !validate(JSON.parse(toJson(value) || 'null')))
    expect([name, refused.length > 2 && refused.length < 28]).toEqual([name, true])
  }
})

test('hostile requests to the API, MCP, webhooks and links are answered, and accounts stay apart', async () => {
  const { faults, requests, calls, statuses } = await fuzzPrograms({ seed: 1, requests: 350 })
  expect(faults).toEqual([])
  expect(requests).toBeGreaterThanOrEqual(350)
  const called = new Set(Array.from(calls.keys(), (name) => name.split(' ')[0]))
  expect(called.size).toBeGreaterThan(20)
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 202, 400, 401, 403, 404, 405]))
}, 120_000)
