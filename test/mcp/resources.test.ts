import { afterAll, beforeAll, expect, test } from 'bun:test'
import SwaggerParser from '@apidevtools/swagger-parser'
import { RESULT_BYTES } from '../../src/mcp/budget.ts'
import type { OpenApi } from '../../src/mcp/resources.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { createTestServer, type TestServer } from '../helper.ts'
import { ask, callTool, rpc } from './client.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

type Contents = { contents: { uri: string; mimeType: string; text: string }[] }
const read = async (uri: string) => (await ask<Contents>(server, 'resources/read', { uri })).contents[0]

test('serve the documentation with the address of the installation', async () => {
  expect(DOC_PAGES.length).toBeGreaterThanOrEqual(5)
  for (const { slug, title } of DOC_PAGES) {
    const { mimeType, text = '' } = (await read(`eventpost://docs/${slug}`)) ?? {}
    expect([mimeType, text.split('\n')[0]]).toEqual(['text/markdown', `# ${title}`])
    expect(text).not.toContain('{base_url}')
  }
  expect((await read('eventpost://docs/mcp'))?.text).toContain('http://localhost:8080/mcp')
})

test('serve openapi.json by call, within the size of a result', async () => {
  const { body } = await server.call('GET', '/api/v1/openapi.json')
  const { paths, components, ...rest } = body as unknown as OpenApi
  const list = JSON.parse((await read('eventpost://openapi.json'))?.text ?? '')
  expect(list).toMatchObject(rest)
  expect(Buffer.byteLength(JSON.stringify(list))).toBeLessThanOrEqual(RESULT_BYTES)
  const found: OpenApi['paths'] = {}
  const schemas: Record<string, object> = {}
  const parts: OpenApi[] = []
  for (const { operationId } of Object.values<OpenApi['paths'][string]>(list.paths).flatMap(Object.values)) {
    const { text = '' } = (await read(`eventpost://openapi/${operationId}`)) ?? {}
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESULT_BYTES)
    const part = JSON.parse(text) as OpenApi
    parts.push(part)
    for (const [, reference = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      const [, name = reference] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? []
      expect([operationId, name, part.components.schemas[name] ?? null]).toEqual([
        operationId,
        name,
        components.schemas[name],
      ])
    }
    for (const [path, methods] of Object.entries(part.paths)) found[path] = { ...found[path], ...methods }
    Object.assign(schemas, part.components.schemas)
  }
  expect([found, schemas]).toEqual([paths, components.schemas])
  // each has the same around its paths and schemas, and openapi.test.ts validates all of those
  const around = ({ paths: _, components: { schemas: __, ...more }, ...rest }: OpenApi) => ({ ...rest, more })
  for (const part of parts) expect(around(part)).toEqual({ openapi: rest.openapi, more: {} })
  await SwaggerParser.validate(JSON.parse(JSON.stringify({ ...parts[0], info: { title: 'x', version: '1' } })))
})

test('serve the setup status like the tool', async () => {
  const app = server.first.appId
  const contents = await read(`eventpost://apps/${app}/setup`)
  expect(JSON.parse(contents?.text ?? '')).toEqual((await callTool(server, 'get_setup_status', { app })).data)
})

test('resources/list is complete', async () => {
  const { resources } = await ask<{ resources: { uri: string; mimeType: string }[] }>(server, 'resources/list')
  for (const { uri, mimeType } of resources) expect(await read(uri)).toMatchObject({ uri, mimeType })
  expect(resources).toHaveLength(DOC_PAGES.length + 2)
  const { resourceTemplates } = await ask<{ resourceTemplates: object[] }>(server, 'resources/templates/list')
  expect(resourceTemplates).toMatchObject([
    { uriTemplate: 'eventpost://openapi/{operationId}' },
    { uriTemplate: 'eventpost://apps/{app}/setup' },
  ])
})

test.each([
  'eventpost://docs/none',
  'eventpost://docs/',
  'file:///etc/passwd',
  'eventpost://apps/../setup',
  'eventpost://openapi/none',
])('there is no %s', async (uri) => {
  const { text, body } = await rpc(server, 'resources/read', { uri })
  expect(body as unknown).toMatchObject({ error: { code: -32_002 } })
  expect(text).not.toContain(uri.slice(0, 12))
})
