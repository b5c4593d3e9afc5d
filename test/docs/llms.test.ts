import { beforeAll, describe, expect, test } from 'bun:test'
import type { OpenApi } from '../../src/api/openapi.ts'
import { createApiPages } from '../../src/docs/api-pages.ts'
import { DOC_GROUPS, DOC_PAGES } from '../../src/docs/index.ts'
import { writeLlms, writeMarkdownPage } from '../../src/docs/llms.ts'
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

describe('llms.txt', () => {
  const write = () => writeLlms([...DOC_GROUPS, { name: 'API reference', pages: reference }], BASE)

  test('begins with a title, a summary, and every page with its address and summary', () => {
    const [index = ''] = write().split(`\n# ${all[0]?.title}\n`)
    expect(index).toMatch(/^# Eventpost\n\n> .+\n/)
    const links = Array.from(index.matchAll(/^- \[(.+?)\]\((.+?)\): (.+)$/gm), ([, ...link]) => link)
    expect(links).toEqual(all.map(({ slug, title, summary }) => [title, `${BASE}/docs/${slug}.md`, summary]))
    expect(index.match(/^## .+$/gm)).toEqual(['## Guides', '## Messages', '## Operation', '## API reference'])
  })

  test('then has the text of every page', () => {
    const text = write()
    expect(text.endsWith(`\n\n${all.map((page) => writeMarkdownPage(page, BASE)).join('\n')}`)).toBe(true)
    expect(text).not.toMatch(/\{(base_url|samples:)/)
  })
})

test('links of a page in Markdown lead to pages in Markdown', () => {
  const slugs = new Set(all.map(({ slug }) => slug))
  for (const page of all) {
    const links = Array.from(writeMarkdownPage(page, BASE).matchAll(/\]\(([^)#]+)(?:#[\w-]+)?\)/g), ([, to = '']) => to)
    for (const to of links.filter((one) => !/(?:openapi|emails)\.json$|^https:\/\/(?!post\.)|^\{\{/.test(one))) {
      expect([page.slug, to, slugs.has(to.replace(`${BASE}/docs/`, '').replace(/\.md$/, ''))]).toEqual([
        page.slug,
        to,
        true,
      ])
    }
  }
})
