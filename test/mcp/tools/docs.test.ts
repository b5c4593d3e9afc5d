import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DOC_PAGES, writeDocPage } from '../../../src/docs/index.ts'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { createTestServer, type TestServer } from '../../helper.ts'
import { callTool } from '../client.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())
const ask = (args: object) => callTool(server, 'get_docs', args)

describe('get_docs', () => {
  test('lists the pages', async () => {
    const pages = DOC_PAGES.map(({ slug, title, summary }) => ({ page: slug, title, summary }))
    expect((await ask({})).data as unknown).toEqual({ ok: true, pages })
  })
  test.each(DOC_PAGES.map((page) => [page.slug, page] as const))('reads all of %s, by pieces', async (slug, page) => {
    const pieces: string[] = []
    for (let cursor: unknown; cursor !== null;) {
      const { data, answer } = await ask({ page: slug, cursor })
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
      pieces.push(String(data.text))
      cursor = data.nextCursor
    }
    expect(pieces.join('')).toBe(writeDocPage(page, 'http://localhost:8080'))
    expect([slug, pieces.length > 1]).toEqual([slug, slug.startsWith('asvs')])
  })
  test.each([
    ['page', { page: 'none' }],
    ['page', { page: 7 }],
    ['cursor', { page: 'start', cursor: 'x' }],
    ['slug', { slug: 'start' }],
  ])('refuses %s of %p', async (field, args) => {
    expect((await ask(args)).data).toMatchObject({ error: 'invalid_field', field })
  })
  test('a cursor is of its own page', async () => {
    const { nextCursor } = (await ask({ page: 'asvs' })).data
    expect((await ask({ page: 'start', cursor: nextCursor })).data).toMatchObject({ field: 'cursor' })
  })
})
