import { h, type VNode } from 'preact'
import { render } from 'preact-render-to-string'
import { localTime } from '../../core/local-time.ts'
import { acceptsGzip } from '../../assets.ts'
import type { AppRow } from '../../store/types.ts'
import { pageAbove } from './forms.ts'
import { isFromNoOtherSite } from './guard.ts'
import { readLanguage } from './language.ts'
import { PageContext } from './page-context.ts'
import { readTheme } from './theme.ts'

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; object-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The URL may hold a token, so it isn't sent to other sites. With no-referrer, browsers send `Origin: null` for our
  // own forms.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

const PACKED_HEADERS = { ...HEADERS, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }

/**
 * Compressed unless it echoes its request and another site may have sent that: such a site could guess the page's secrets
 * by the length of repeated answers (BREACH).
 */
export function pageAnswer(request: Request, status: number, page: VNode, cookies: string[] = []): Response {
  const { pathname, search } = new URL(request.url)
  const facts = {
    theme: readTheme(request),
    language: readLanguage(request),
    path: request.method === 'GET' ? pathname + search : null,
    back: request.method === 'GET' ? pathname + search : pageAbove(pathname),
  }
  const html = `<!doctype html>${render(h(PageContext.Provider, { value: facts }, page))}`
  const repeatsNothing = status === 200 && facts.path === pathname
  const isPacked = (repeatsNothing || isFromNoOtherSite(request)) && acceptsGzip(request)
  const response = isPacked
    ? new Response(Bun.gzipSync(html), { status, headers: PACKED_HEADERS })
    : new Response(html, { status, headers: HEADERS })
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
  return response
}

const OWN = 'http://own.invalid'

/** Redirects only to our own paths, to prevent open redirects. */
function ownPath(path: string): string {
  const url = path.startsWith('/') ? URL.parse(path, OWN) : null
  // `/.//evil.example` resolves to `//evil.example`, which browsers read as a host
  const isOwn = url?.origin === OWN && !url.pathname.startsWith('//')
  return isOwn ? url.pathname + url.search + url.hash : '/'
}

export function redirectAnswer(path: string, cookies: string[] = []): Response {
  const headers = { Location: ownPath(path), 'Cache-Control': 'no-store' }
  const response = new Response(null, { status: 303, headers })
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
  return response
}

const DOWNLOAD_TYPES = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  json: 'application/json; charset=utf-8',
} as const

type ExportName = { app: Pick<AppRow, 'name' | 'timezone'>; filters: readonly string[]; now: number }

/** "people-acme-notes-2026-05-03", in the app's timezone, or "people-acme-notes-2026-05-03-filtered". */
export function nameExport(name: string, { app: { name: appName, timezone }, filters, now }: ExportName): string {
  const app = appName
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.join('-')
  const day = new Date(localTime(now, timezone)).toISOString().slice(0, 10)
  const parts = [name, app?.slice(0, APP_NAME_CHARACTERS), day, filters.length > 0 && 'filtered']
  return parts.filter(Boolean).join('-')
}

const APP_NAME_CHARACTERS = 40

/** Streams a file; ends with its reader. */
export function downloadAnswer(
  pieces: AsyncGenerator<string>,
  { name, format }: { name: string; format: keyof typeof DOWNLOAD_TYPES },
): Response {
  const body = new ReadableStream<string>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  }).pipeThrough(new TextEncoderStream())
  const headers = {
    'Content-Type': DOWNLOAD_TYPES[format],
    'Content-Disposition': `attachment; filename="${name}.${format}"`,
    'Cache-Control': 'no-store',
  }
  return new Response(body, { headers })
}
