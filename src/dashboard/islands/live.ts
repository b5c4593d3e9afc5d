/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Keeps elements with `data-live` up to date. */
const source = document.querySelector<HTMLElement>('[data-live-from]')?.dataset.liveFrom

/** HTML of each element as it came, because scripts and readers change it on the page. */
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

const LABELS: Record<StreamState, [word: string, mood: string]> = {
  open: ['Refreshing', 'good'],
  interrupted: ['Reconnecting', 'caution'],
  'signed-out': ['Signed out', 'bad'],
  ended: ['Stopped', 'caution'],
}

function tell(state: StreamState): void {
  const badge = document.querySelector('[data-live-state]')
  const [word, mood] = LABELS[state]
  if (!badge || badge.textContent === word) return
  badge.className = `badge ${mood}`
  badge.textContent = word
}

if (source !== undefined) openStream({ url: () => source, on: { parts: show }, onState: tell })
