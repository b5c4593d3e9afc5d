/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { DocPage } from '../../docs/index.ts'
import type { Found, Piece } from '../../docs/search.ts'
import { Document } from '../layout/document.tsx'
import { Bar, Item, PageHead, pathOf as pathIn, Sidebar, SkipLink } from '../layout/frame.tsx'
import { ThemeSwitch } from '../layout/theme-switch.tsx'
import { Icon, Mark } from '../ui/icon.tsx'
import { SentText } from '../ui/text.tsx'
import { BREAKS, type DocHtml, type Heading } from './doc-html.tsx'
import type { Reader } from './reader.ts'

/** All pages in reading order. */
export type Docs = { name: string; pages: DocPage[] }[]

type FrameProps = {
  docs: Docs
  reader: Reader | null
  current: DocHtml | null
  query?: string
  title: string
  state: ComponentChildren
  action?: ComponentChildren
  children: ComponentChildren
}

/** Members keep the sidebar of their app, with the pages beside it. For others, the sidebar lists the pages. */
const DocsFrame = ({ docs, reader, current, query = '', title, state, action, children }: FrameProps) => (
  <Document title={`${title} - Documentation`} islands={['docs']}>
    <SkipLink />
    <div class="frame">
      <Bar name={reader ? reader.viewer.app.name : 'Eventpost'} />
      {reader ? <Sidebar viewer={reader.viewer} page="docs" /> : <OpenSidebar {...{ docs, current, query }} />}
      <main class={reader ? 'docs-frame beside' : 'docs-frame'}>
        <div class="docs-tools">
          <SearchForm id="search" query={query} />
          {reader && (
            <>
              <button class="button plain" type="button" popovertarget="pages">
                <Icon name="menu" />
                Pages
              </button>
              <nav class="docs-pages" id="pages" popover aria-label="Documentation">
                <PageLinks docs={docs} current={current} />
              </nav>
            </>
          )}
        </div>
        <article id="main">
          <PageHead title={title} state={state} action={action} />
          {children}
        </article>
      </main>
    </div>
  </Document>
)

type OpenSidebarProps = Pick<FrameProps, 'docs' | 'current'> & { query: string }

const OpenSidebar = ({ docs, current, query }: OpenSidebarProps) => (
  <nav class="sidebar" id="menu" popover aria-label="Documentation">
    <a class="item home" href="/">
      <Mark />
      <span>
        <b>Eventpost</b>
      </span>
    </a>
    <SearchForm id="menu-search" query={query} />
    <PageLinks docs={docs} current={current} />
    <div class="foot">
      <Item href="/sign-in" icon="person" isCurrent={false}>
        Sign in
      </Item>
      <ThemeSwitch />
    </div>
  </nav>
)

/** Without scripts it opens a page of results. */
const SearchForm = ({ id, query }: { id: string; query: string }) => (
  <form class="docs-search" method="get" action="/docs/search" role="search">
    <label class="unseen" for={id}>
      Search the documentation
    </label>
    <Icon name="search" />
    <input id={id} name="q" type="search" value={query} placeholder="Search" autocomplete="off" spellcheck={false} />
    <span class="unseen" role="status" />
    <div class="docs-found" hidden />
  </form>
)

const PageLinks = ({ docs: groups, current }: Pick<FrameProps, 'docs' | 'current'>) => (
  <div class="docs-links">
    {groups.map(({ name, pages }, index) => (
      <>
        <p id={`docs-group-${index}`}>{name}</p>
        <LinkList label={`docs-group-${index}`} pages={pages} current={current} />
      </>
    ))}
  </div>
)

const LinkList = ({ label, pages, current }: { label: string; pages: DocPage[]; current: DocHtml | null }) => (
  <ul aria-labelledby={label}>
    {pages.map((page) => (
      <li key={page.slug}>
        <a class="item" href={pathOf(page)} aria-current={page === current?.page ? 'page' : undefined}>
          <span>{page.title}</span>
        </a>
        {page === current?.page && current.headings.length > 1 && <Headings headings={current.headings} />}
      </li>
    ))}
  </ul>
)

const Headings = ({ headings }: { headings: Heading[] }) => (
  <ul class="docs-headings" aria-label="On this page">
    {headings.map(({ id, text }) => (
      <li key={id}>
        <a href={`#${id}`}>{text}</a>
      </li>
    ))}
  </ul>
)

const pathOf = ({ slug }: DocPage): string => `/docs/${slug}`

type DocProps = { docs: Docs; doc: DocHtml; reader: Reader | null; html: string }

export const DocPageView = ({ docs, doc, reader, html }: DocProps) => (
  <DocsFrame
    docs={docs}
    reader={reader}
    current={doc}
    title={doc.page.title}
    state={<Summary text={doc.page.summary} />}
    action={
      <a class="docs-markdown" href={`${pathOf(doc.page)}.md`}>
        View as Markdown
      </a>
    }
  >
    {reader && <ReaderValues {...reader} markdown={doc.page.markdown} />}
    <div class="docs" dangerouslySetInnerHTML={{ __html: html }} />
    <Neighbours all={docs.flatMap(({ pages }) => pages)} page={doc.page} />
  </DocsFrame>
)

const ENDPOINT = /^(GET|POST|PATCH|DELETE) (\S+)$/

/** Pages of the API reference have their method and path as the summary. */
const Summary = ({ text }: { text: string }) => {
  const [, method, path] = ENDPOINT.exec(text) ?? []
  return method && path ? (
    <span class="endpoint">
      <b>{method}</b>{' '}
      <code>
        {path.split(BREAKS).map((part, index) => (
          <>
            {index > 0 && <wbr />}
            {part}
          </>
        ))}
      </code>
    </span>
  ) : (
    <>{text}</>
  )
}

/** Tells readers which of their own values the page shows. */
const ReaderValues = ({ viewer: { app }, keyName, markdown }: Reader & { markdown: string }) => {
  const [hasIds, hasKey] = [/\b(APP|SITE)_ID\b/.test(markdown), markdown.includes('SERVICE_API_KEY')]
  if (!hasIds && !hasKey) return null
  return (
    <p class="docs-reader">
      {hasIds && (
        <>
          Samples use the IDs of <SentText>{app.name}</SentText>.
        </>
      )}
      {hasKey && <KeyName appId={app.publicId} keyName={keyName} />}
    </p>
  )
}

const KeyName = ({ appId, keyName }: { appId: string; keyName: string | null }) =>
  keyName === null ? (
    <>
      {' '}
      You have no API key yet: <a href={pathIn(appId, 'keys')}>create one</a> for <code>SERVICE_API_KEY</code>.
    </>
  ) : (
    <>
      {' '}
      Set <code>SERVICE_API_KEY</code> to your key “<SentText>{keyName}</SentText>”.
    </>
  )

const Neighbours = ({ all, page }: { all: DocPage[]; page: DocPage }) => {
  const place = all.indexOf(page)
  const [before, after] = [all[place - 1], all[place + 1]]
  return (
    <nav class="docs-neighbours" aria-label="Previous and next page">
      {before && (
        <a href={pathOf(before)} rel="prev">
          <small>Previous</small>
          {before.title}
        </a>
      )}
      {after && (
        <a href={pathOf(after)} rel="next">
          <small>Next</small>
          {after.title}
        </a>
      )}
    </nav>
  )
}

type SearchProps = { docs: Docs; reader: Reader | null; query: string; found: Found[] }

export const SearchPage = ({ docs, reader, query, found }: SearchProps) => (
  <DocsFrame
    docs={docs}
    reader={reader}
    current={null}
    query={query}
    title="Search"
    state={describeFound(query, found)}
  >
    {found.length > 0 ? (
      <ol class="docs-results">
        {found.map((one) => (
          <li key={one.path}>
            <a href={one.path}>
              <b>
                <Pieces pieces={one.heading} />
              </b>
              {one.page !== one.heading.map(({ text }) => text).join('') && <small>{one.page}</small>}
              <span>
                <Pieces pieces={one.excerpt} />
              </span>
            </a>
          </li>
        ))}
      </ol>
    ) : (
      <p>Search for a field, an error code or a rule, such as “createContact”, “rate_limited” or “notSeen”.</p>
    )}
  </DocsFrame>
)

function describeFound(query: string, found: Found[]): ComponentChildren {
  if (query.trim() === '') return 'All pages and API calls.'
  const count = found.length === 1 ? '1 section' : `${found.length} sections`
  return (
    <>
      {found.length === 0 ? 'Nothing' : count} found for “<SentText most={100}>{query}</SentText>”.
    </>
  )
}

const Pieces = ({ pieces }: { pieces: Piece[] }) => (
  <>{pieces.map(({ text, isMatch }, index) => (isMatch ? <mark key={index}>{text}</mark> : text))}</>
)
