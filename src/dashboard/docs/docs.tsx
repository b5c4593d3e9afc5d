/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { DOC_PAGES, type DocPage, writeDocPage } from '../../docs/index.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import type { PageDependencies } from '../layout/viewer.ts'
import { Layout } from '../layout/layout.tsx'

/** Raw HTML in Markdown is disabled, so settings can't inject markup. */
const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true }

export function docsRoutes({ baseUrl }: Pick<PageDependencies, 'baseUrl'>) {
  const routes = new Elysia().get('/docs', () => redirectAnswer(docPath('start')))
  for (const page of DOC_PAGES) {
    const html = letScroll(Bun.markdown.html(bodyOf(writeDocPage(page, baseUrl)), MARKDOWN))
    routes.get(docPath(page.slug), ({ request }) => pageAnswer(request, 200, <DocsPage page={page} html={html} />))
  }
  return routes
}

const docPath = (slug: string): string => `/docs/${slug}`

/** Code blocks scroll on phones and need keyboard focus. */
const letScroll = (html: string): string => html.replaceAll('<pre>', '<pre tabindex="0">')

/** Drops the title and summary, which the page header shows. */
const bodyOf = (markdown: string): string => markdown.split('\n').slice(3).join('\n')

const DocsPage = ({ page, html }: { page: DocPage; html: string }) => (
  <Layout title={page.title} lead={page.summary}>
    <nav class="docs-nav" aria-label="Documentation">
      <ul>
        {DOC_PAGES.map(({ slug, title }) => (
          <li key={slug}>
            <a href={docPath(slug)} aria-current={slug === page.slug ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
        <li>
          <a href="/api/v1/docs">Every call</a>
        </li>
      </ul>
    </nav>
    <div class="docs" dangerouslySetInnerHTML={{ __html: html }} />
  </Layout>
)
