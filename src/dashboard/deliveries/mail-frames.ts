import { makeToken } from '../../core/tokens.ts'

/** The latest are kept: a browser asks for one right after it was made. Of the largest, all together hold 16 MB. */
const FRAMES = 64

/**
 * What a mail may do in its frame: show itself and pictures, and open a link in a window of its own. A mail has its style
 * in itself, which no page of ours may, so it needs an address and a policy of its own.
 */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

/** What came of a mail when it was not kept any more. */
const GONE =
  '<!doctype html><html lang="en"><title>Gone</title><p>This preview is gone. Press Preview again.</p></html>'

/** A whole mail as the answer to a frame; its links open in a window of their own. */
export const mailAnswer = (html: string | null): Response =>
  new Response((html ?? GONE).replace('<head>', '<head><base target="_blank">'), {
    status: html === null ? 404 : 200,
    headers: HEADERS,
  })

export type MailFrames = ReturnType<typeof createMailFrames>

/** Mails that are shown and not stored, by random names, for whoever may see their app. */
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
