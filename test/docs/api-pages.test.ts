import { beforeAll, describe, expect, test } from 'bun:test'
import type { OpenApi } from '../../src/api/openapi.ts'
import { createApiPages } from '../../src/docs/api-pages.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import type { DocPage } from '../../src/docs/page.ts'
import { ERROR_CODES } from '../../src/http/answer-schemas.ts'
import * as inputs from '../inputs.ts'
import { createTestServer } from '../helper.ts'

type Operation = {
  operationId: string
  summary: string
  description?: string
  parameters: { name: string }[]
  responses: Record<string, { description: string }>
}
type Described = { method: string; path: string; operation: Operation }

let document: OpenApi
let pages: DocPage[]
let calls: Described[]
beforeAll(async () => {
  const server = await createTestServer()
  document = (await server.call('GET', '/api/v1/openapi.json', { key: null })).body as unknown as OpenApi
  await server.close()
  pages = createApiPages(document)
  calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation: operation as Operation })),
  )
})

const pageOf = (slug: string): string => pages.find((page) => page.slug === slug)?.source ?? ''

describe('the API reference', () => {
  test('has a page for each call, with its description, parameters, fields and errors', () => {
    expect(calls.length).toBeGreaterThanOrEqual(9)
    for (const { method, path, operation } of calls) {
      const page = pages.find(({ summary }) => summary === `${method.toUpperCase()} ${path}`)
      expect([operation.summary, page?.title]).toEqual([operation.summary, operation.summary])
      expect(page?.source).toContain(operation.description ?? operation.summary)
      for (const { name } of operation.parameters) {
        if (name === 'Idempotency-Key')
          expect(page?.source).toContain('`Idempotency-Key` header, you can [retry safely]')
        else expect([name, page?.source.includes(`| \`${name}\` |`)]).toEqual([name, name !== 'newsletter'])
      }
      for (const heading of ['## Errors', '## Response 20']) expect(page?.source).toContain(heading)
      expect(pageOf('api')).toContain(`\`${method.toUpperCase()} ${path}\``)
      expect(pageOf('api')).toContain(`[${operation.summary}](/docs/${page?.slug})`)
    }
  })

  test('has every field of every body, with its meaning', () => {
    const all = pages.map(({ source }) => source).join('\n')
    for (const schema of Object.values(inputs)) {
      for (const [name, { description }] of Object.entries<{ description?: string }>(schema.properties)) {
        if (name === 'newsletter') continue
        expect(all).toMatch(new RegExp(`\\| \`${name}\` \\| [^|]+ \\|`))
        expect([name, all.includes(description ?? '?')]).toEqual([name, true])
      }
    }
  })

  test('no table is empty or leaves a meaning out', () => {
    for (const { slug, source } of pages) {
      expect([slug, source.match(/^\| --- .*\n(?!\|)/m)]).toEqual([slug, null])
      expect([slug, source.match(/^.*\| +\|$/m)]).toEqual([slug, null])
    }
    expect(pageOf('api/take-webhook')).toContain("## Body\n\nIn the provider's format: see its documentation.\n")
  })

  test('states types, limits and which fields are required', () => {
    const page = pageOf('api/post-contacts')
    expect(page).toContain('| `email` | string, required |')
    expect(page).toContain('| `tags` | array of string, 1 to 64 characters, up to 50 items |')
    expect(pageOf('api/post-send')).toContain('| `body` | string, 1 to 50,000 characters |')
    expect(page).toContain('| `fields` | object, up to 100 keys |')
    expect(page).toContain('| `app` | string, 1 to 64 characters, required |')
    expect(pageOf('api/get-events')).toContain('| `app` | string, 1 to 64 characters, in the query, required |')
    expect(pageOf('api/get-events')).toContain('| `limit` | integer, 1 to 100, in the query |')
  })

  test('explains the objects inside bodies and answers', () => {
    expect(pageOf('api/get-events')).toContain('## Event object')
    expect(pageOf('api/post-events-batch')).toContain('## EventInput object')
    for (const name of ['ContactFound', 'ContactPage', 'Contact']) {
      expect(pageOf('api/get-contacts')).toContain(`[${name} object](#${name.toLowerCase()}-object)`)
    }
    for (const { slug, source } of pages) {
      for (const [, name] of source.matchAll(/\[(\w+) object\]\(#/g)) {
        expect([slug, name, source.includes(`## ${name} object`)]).toEqual([slug, name, true])
      }
    }
  })

  test('writes the meanings of values alike, in lower case', () => {
    for (const { slug, source } of pages)
      expect([slug, source.match(/(?<=[|.] )`\w+`: [A-Z]\w*/g)]).toEqual([slug, null])
    expect(pageOf('api/post-contacts')).toContain('`false`: the person was known. `true`: this call added the person.')
  })

  test('explains every event type', () => {
    for (const type of ['event', 'page', 'action', 'track']) expect(pageOf('api/get-events')).toContain(`\`${type}\``)
  })

  test('says once that `newsletter` is another name for `app`', () => {
    const naming = [...DOC_PAGES, ...pages].filter(({ markdown }) => markdown.includes('newsletter'))
    expect(naming.map(({ slug }) => slug)).toEqual(['api'])
    expect(pageOf('api').match(/newsletter/g)).toHaveLength(1)
  })

  test('has each error of a call, on its page or as one of every call', () => {
    for (const { method, path, operation } of calls) {
      const page = pages.find(({ summary }) => summary === `${method.toUpperCase()} ${path}`)?.source ?? ''
      const errors = page.slice(page.indexOf('## Errors')) + pageOf('api')
      for (const [status, { description }] of Object.entries(operation.responses)) {
        if (status.startsWith('2')) continue
        const rows = errors.match(new RegExp(`^\\| ${status} \\| .*$`, 'gm'))?.join() ?? ''
        for (const [code] of description.matchAll(/^`\w+`/gm)) expect([path, rows.includes(code)]).toEqual([path, true])
      }
    }
  })

  test('the overview leads to errors, limits and retries, which the description explains', () => {
    for (const slug of ['errors', 'limits', 'retries']) expect(pageOf('api')).toContain(`](/docs/${slug})`)
    expect(pageOf('api')).toContain('Use a timeout of 10 seconds and log failures')
    expect(pageOf('api')).toContain('## Versions')
    for (const code of ERROR_CODES) expect(document.info.description).toContain(`\`${code}\``)
    const said = [
      'per key | 6,000 in any hour',
      'per key | 600 in any hour',
      'visitor | 5 in any 10 minutes',
      'under 2 KB',
      '256 KB',
      'To retry safely',
    ]
    for (const words of said) expect(document.info.description).toContain(words)
  })

  test('has a sample for each call with a key, and placeholders for IDs', () => {
    for (const { source, samples, slug, markdown } of pages) {
      expect([slug, source.includes('{samples:request}')]).toEqual([slug, samples.has('request')])
      expect([slug, markdown.match(/\b(app|site)_[0-9a-z]{12}/)]).toEqual([slug, null])
    }
    expect(pages.filter(({ samples }) => samples.get('request')?.length === 8)).toHaveLength(22)
  })

  test('contains nothing undefined', () => {
    for (const { source } of pages) expect(source).not.toMatch(/undefined|NaN|\[object/)
  })
})
