import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestServer, type TestServer } from '../helper.ts'
import { type Document, readDocument } from './described-answers.ts'

let server: TestServer
let document: Document
beforeAll(async () => {
  server = await createTestServer()
  document = await readDocument(server)
})
afterAll(() => server.close())

const MALFORMED = ['%', '%ff', '%c0%af', '%E0%A4%A', 'msg_%zz']

/** Only the ID of the request differs. */
const plain = (text: string): string => text.replaceAll(/req_[0-9a-z]+/g, 'req')

test('a badly encoded ID in a path is answered as one that nobody has', async () => {
  const { apiKey } = await server.makeKey('manage')
  const asked: string[] = []
  for (const [template, methods] of Object.entries(document.paths)) {
    if (!template.includes('{')) continue
    for (const method of Object.keys(methods)) {
      const ask = (id: string) => {
        const query = `?app=${server.first.appId}${template.endsWith('/explanation') ? '&email=ada@example.com' : ''}`
        const path = template.replaceAll(/\{\w+\}/g, id) + query
        return server.call(method.toUpperCase(), path, { key: apiKey, ...(method === 'get' ? {} : { body: {} }) })
      }
      const unknown = await ask('none')
      expect([401, 404]).toContain(unknown.status)
      for (const id of MALFORMED) {
        const { status, text } = await ask(id)
        expect([template, id, status, plain(text)]).toEqual([template, id, unknown.status, plain(unknown.text)])
      }
      asked.push(template)
    }
  }
  expect(asked.length).toBeGreaterThanOrEqual(8)
})
