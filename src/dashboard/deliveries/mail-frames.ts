import { SANDBOX } from '../islands/mail-scheme.ts'
import { makeToken } from '../../accounts/tokens.ts'

/** At most 16 MB together; a browser requests a frame right after it was created. */
const FRAMES = 64

/** The email is styled inline, so it needs its own URL and policy: pictures and links in a new window only. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox ${SANDBOX}`,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

/** Shown when an email has expired. */
const GONE =
  '<!doctype html><html lang="en"><title>Expired preview</title><p>This preview has expired. Click Preview again.</p></html>'

/** Where scrollbars are hidden until used, an email that goes on below the frame would look cut. */
const SCROLLBAR =
  '<style>::-webkit-scrollbar{width:10px}::-webkit-scrollbar-thumb{border:2px solid transparent;border-radius:5px;background:#8a8a8a;background-clip:content-box}</style>'

const SCHEME = /\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi

/** Frames follow the device's colour scheme, so its media queries are replaced by the chosen one. */
const inScheme = (html: string, scheme: 'dark' | 'light'): string =>
  html.replaceAll(SCHEME, (_, asked: string) => (asked.toLowerCase() === scheme ? '(min-width:0)' : '(max-width:0)'))

/** Where the head starts; the start of the document if it has no `<head>`. */
const HEAD = /<head>|^(?:\s*<!doctype[^>]*>)?(?![^]*<head>)/i

/** Links open in a new window. */
export function mailAnswer({ url }: Request, html: string | null): Response {
  const scheme = new URL(url).searchParams.get('scheme') === 'dark' ? 'dark' : 'light'
  const head = `<base target="_blank">${SCROLLBAR}<style>:root{color-scheme:${scheme}!important}</style>`
  const shown = inScheme(html ?? GONE, scheme)
  const whole = shown.replace(HEAD, (start) => start + head)
  return new Response(whole, { status: html === null ? 404 : 200, headers: HEADERS })
}

export type MailFrames = ReturnType<typeof createMailFrames>

/** Unsaved previews by random name, for members who can see the app. */
export function createMailFrames() {
  const frames = new Map<string, { appId: number; html: string }>()
  return {
    keep(appId: number, html: string): string {
      const [oldest] = frames.keys()
      if (frames.size >= FRAMES && oldest !== undefined) frames.delete(oldest)
      const name = makeToken()
      frames.set(name, { appId, html })
      return name
    },
    find(appId: number, name: string): string | null {
      const frame = frames.get(name)
      return frame?.appId === appId ? frame.html : null
    },
  }
}
