/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Keeps elements with `data-live` up to date. */
const { liveFrom: source, liveGone: nameOfGone } =
  document.querySelector<HTMLElement>('[data-live-from]')?.dataset ?? {}

/** HTML of each element as received, because scripts and readers change it on the page. */
const shown = new Map<string, string>()
for (const { dataset, innerHTML } of document.querySelectorAll<HTMLElement>('[data-live]')) {
  shown.set(dataset.live ?? '', innerHTML)
}

/** HTML by name, rendered by the page's own components. */
function show(data: unknown): void {
  for (const [name, html] of Object.entries(data as Record<string, string>)) {
    const next = document.createElement('template')
    next.innerHTML = html
    // skip unchanged parts, so that nothing is repeated by screen readers or closed
    if (shown.get(name) === next.innerHTML) continue
    shown.set(name, next.innerHTML)
    document.querySelector(`[data-live="${name}"]`)?.replaceChildren(next.content)
  }
}

/** Clears the page, except for the element that shows the reason. */
function clear(): void {
  const heading = document.querySelector('h1')
  if (nameOfGone === undefined || !heading) return
  const place = document.createElement('span')
  place.dataset.streamReason = ''
  for (const part of document.querySelectorAll<HTMLElement>('[data-live]'))
    part.replaceChildren(...(part.dataset.live === 'state' ? [place] : []))
  heading.textContent = nameOfGone
  heading.removeAttribute('title')
  document.title = nameOfGone
}

const LABELS: Record<StreamState, [word: string, mood: string]> = {
  open: ['Refreshing', 'good'],
  interrupted: ['Reconnecting', 'caution'],
  'signed-out': ['Signed out', 'bad'],
  ended: ['Stopped', 'caution'],
  gone: ['Stopped', 'caution'],
}

function tell(state: StreamState): void {
  if (state === 'gone') clear()
  const badge = document.querySelector('[data-live-state]')
  const [word, mood] = LABELS[state]
  if (!badge || badge.textContent === word) return
  badge.className = `badge ${mood}`
  badge.textContent = word
}

if (source !== undefined) openStream({ url: () => source, on: { parts: show, gone: clear }, onState: tell })
