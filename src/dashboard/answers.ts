import type { VNode } from 'preact'
import { render } from 'preact-render-to-string'

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The address may hold a token, so no other site gets it. Under no-referrer a browser would send our own forms with
  // `Origin: null`, and over plain http it sends nothing else to know them by.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** A whole page as an answer (promises 15). */
export const pageAnswer = (status: number, page: VNode): Response =>
  new Response(`<!doctype html>${render(page)}`, { status, headers: HEADERS })
