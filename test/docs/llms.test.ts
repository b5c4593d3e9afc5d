import { beforeAll, describe, expect, test } from 'bun:test'
import type { OpenApi } from '../../src/api/openapi.ts'
import { createApiPages } from '../../src/docs/api-pages.ts'
import { DOC_GROUPS, DOC_PAGES } from '../../src/docs/index.ts'
import { writeLlmsFull, writeLlmsIndex, writeMarkdownPage } from '../../src/docs/llms.ts'
import type { DocPage } from '../../src/docs/page.ts'
import { createTestServer } from '../helper.ts'

const BASE = 'https://post.example.com'

let reference: DocPage[]
let all: DocPage[]
beforeAll(async () => {
  const server = await createTestServer()
  reference = createApiPages(
    (await server.call('GET', '/api/v1/openapi.json', { key: null })).body as unknown as OpenApi,
  )
  all = [...DOC_PAGES, ...reference]
  await server.close()
})

describe('the index for language models', () => {
  test('has a title, a summary, and every page with its address and summary', () => {
    const index = writeLlmsIndex([...DOC_GROUPS, { name: 'API reference', pages: reference }], BASE)
    expect(index).toMatch(/^# Eventpost\n\n> .+\n/)
    const links = Array.from(index.matchAll(/^- \[(.+?)\]\((.+?)\): (.+)$/gm), ([, ...link]) => link)
    for (const { slug, title, summary } of all)
      expect(links).toContainEqual([title, `${BASE}/docs/${slug}.md`, summary])
    expect(links).toHaveLength(all.length)
    expect(index.match(/^## .+$/gm)).toEqual(['## Guides', '## Messages', '## Operation', '## API reference'])
  })
})

test('the whole documentation is every page', () => {
  const full = writeLlmsFull(all, BASE)
  for (const page of all) expect(full).toContain(`\n# ${page.title}\n`)
  expect(full).not.toMatch(/\{(base_url|samples:)/)
})

test('links of a page in Markdown lead to pages in Markdown', () => {
  const slugs = new Set(all.map(({ slug }) => slug))
  for (const page of all) {
    const links = Array.from(writeMarkdownPage(page, BASE).matchAll(/\]\(([^)#]+)(?:#[\w-]+)?\)/g), ([, to = '']) => to)
    for (const to of links.filter((one) => !/openapi\.json$|^https:\/\/(?!post\.)|^\{\{/.test(one))) {
      expect([page.slug, to, slugs.has(to.replace(`${BASE}/docs/`, '').replace(/\.md$/, ''))]).toEqual([
        page.slug,
        to,
        true,
      ])
    }
  }
})
