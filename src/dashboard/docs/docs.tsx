/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { siteOrigin } from '../../accounts/app-settings.ts'
import { createLazy } from '../../core/lazy.ts'
import { type ApiDescription, createApiPages } from '../../docs/api-pages.ts'
import { DOC_GROUPS, type DocPage } from '../../docs/index.ts'
import { writeLlms, writeMarkdownPage } from '../../docs/llms.ts'
import { EMAILS_FILE } from '../../docs/samples.ts'
import { createSearch, type Found, type Section } from '../../docs/search.ts'
import { createPackedAnswer } from '../../http/packed-answer.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { readForm } from '../layout/forms.ts'
import { isLanguage, languageCookie, readLanguage } from '../layout/language.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { lastAppCookie, showPage } from '../layout/require-member.tsx'
import type { PageDependencies } from '../layout/viewer.ts'
import { createDocHtml, type DocHtml, fillDocHtml, type Part, PLACEHOLDER_VALUES } from './doc-html.tsx'
import { DocPageView, type Docs, SearchPage } from './docs-page.tsx'
import { findReader, type Reader } from './reader.ts'

const FIRST = '/docs/start'

export type DocsDependencies = PageDependencies & { openApi: () => ApiDescription }

export function docsRoutes(deps: DocsDependencies) {
  const { baseUrl } = deps
  const read = createLazy(() => readDocs(deps))
  const routes = new Elysia()
    .get('/docs', () => redirectAnswer(FIRST))
    .get('/docs/search', async ({ request }) => {
      const { docs, search } = await read.get()
      const query = new URL(request.url).searchParams.get('q') ?? ''
      const reader = await findReader(deps, request)
      return pageAnswer(request, 200, <SearchPage {...{ docs, reader, query }} found={await search(query)} />)
    })
    .get('/apps/:app/docs', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        const to = new URL(request.url).searchParams.get('to') ?? FIRST
        return redirectAnswer(to, [lastAppCookie(baseUrl, viewer.app.publicId)])
      }),
    )
    .get('/docs/emails.json', () => new Response(EMAILS_FILE, { headers: textHeaders('application/json') }))
    .post('/language', ({ request }) => takeLanguage(baseUrl, request), { parse: 'none' })
    .get('/llms.txt', async ({ request }) => (await read.get()).answerLlms(request, textHeaders('text/plain')))
  const show = async (request: Request, slug: string): Promise<Response> => {
    if (slug === '') return redirectAnswer(FIRST)
    const { docs, pages, render } = await read.get()
    const page = pages.find((one) => one.slug === slug.replace(/\.md$/, ''))
    if (!page) return problemAnswer(request, 'doc_unknown')
    if (slug.endsWith('.md'))
      return new Response(writeMarkdownPage(page, baseUrl), { headers: textHeaders('text/markdown') })
    return showDoc(deps, request, render(page), docs)
  }
  return routes
    .get('/docs/:page', ({ request, params: { page } }) => show(request, page))
    .get('/docs/api/:page', ({ request, params: { page } }) => show(request, page === '' ? 'api' : `api/${page}`))
}

/** Work runs this long at a time. */
const WORK_MS = 4

/** Awaited between the steps of long work, so that other requests are answered meanwhile. */
function createPauses(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < WORK_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    since = performance.now()
  }
}

/** Each page is rendered when it is first read, and all of them when somebody first searches. */
async function readDocs({ baseUrl, openApi }: Pick<DocsDependencies, 'baseUrl' | 'openApi'>) {
  const pause = createPauses()
  const description = openApi()
  await pause()
  const docs: Docs = [...DOC_GROUPS, { name: 'API reference', pages: createApiPages(description) }]
  const rendered = new Map<DocPage, DocHtml>()
  const render = (page: DocPage): DocHtml => {
    const doc = rendered.get(page) ?? createDocHtml(page, baseUrl)
    rendered.set(page, doc)
    return doc
  }
  const listSections = (page: DocPage): Section[] =>
    render(page)
      .parts.filter((part) => isSearched(page.slug, part))
      .map(({ id, text, body }) => ({
        path: `/docs/${page.slug}${id && `#${id}`}`,
        page: page.title,
        heading: text,
        body: id ? body : `${page.summary} ${body}`,
        isMinor: MINOR.has(page.slug),
      }))
  const pages = docs.flatMap((group) => group.pages)
  const index = createLazy(async () => {
    const pause = createPauses()
    const sections: Section[] = []
    for (const page of pages) {
      sections.push(...listSections(page))
      await pause()
    }
    return createSearch(sections, pause)
  })
  const search = async (query: string): Promise<Found[]> => (query.trim() === '' ? [] : (await index.get())(query))
  return { docs, pages, render, search, answerLlms: createPackedAnswer(() => writeLlms(docs, baseUrl)) }
}

/** Pages that the search lists last. */
const MINOR: ReadonlySet<string> = new Set(['asvs', 'asvs-v8', 'development', 'commands'])

/** Error codes are left out of the reference in the search, because they have their own page. */
const isSearched = (slug: string, { id }: Part): boolean => id !== 'errors' || !/^api\b/.test(slug)

async function showDoc(deps: DocsDependencies, request: Request, doc: DocHtml, docs: Docs): Promise<Response> {
  const reader = await findReader(deps, request)
  const values = { ...PLACEHOLDER_VALUES, ...valuesOf(reader), language: readLanguage(request) }
  const html = fillDocHtml(doc, deps.baseUrl, values)
  return pageAnswer(request, 200, <DocPageView {...{ docs, doc, reader, html }} />)
}

function valuesOf(reader: Reader | null) {
  if (!reader) return {}
  const { app } = reader.viewer
  return { appId: app.publicId, siteId: app.siteId, homeUrl: siteOrigin(app) }
}

const textHeaders = (type: string) => ({
  'Content-Type': `${type}; charset=utf-8`,
  'Cache-Control': 'public, max-age=300',
})

async function takeLanguage(baseUrl: string, request: Request): Promise<Response> {
  const form = await readForm(request)
  if ('refusal' in form) return problemAnswer(request, form.refusal)
  const language = form.text('language')
  const response = new Response(null, { status: 204 })
  if (isLanguage(language)) response.headers.append('Set-Cookie', languageCookie(baseUrl, language))
  return response
}
