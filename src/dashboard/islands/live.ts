/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Keeps elements with `data-live` up to date. */
const source = document.querySelector<HTMLElement>('[data-live-from]')?.dataset.liveFrom

/** HTML by name, rendered by the page's own components. */
function show(data: unknown): void {
  for (const [name, html] of Object.entries(data as Record<string, string>)) {
    const part = document.querySelector(`[data-live="${name}"]`)
    const next = document.createElement('template')
    next.innerHTML = html
    // skip unchanged parts, so that screen readers don't repeat them
    if (part && part.innerHTML !== next.innerHTML) part.replaceChildren(next.content)
  }
}

const LABELS: Record<StreamState, [word: string, mood: string]> = {
  open: ['Refreshing', 'good'],
  interrupted: ['Reconnecting', 'caution'],
  'signed-out': ['Signed out', 'bad'],
  replaced: ['Stopped', 'caution'],
}

function tell(state: StreamState): void {
  const badge = document.querySelector('[data-live-state]')
  const [word, mood] = LABELS[state]
  if (!badge || badge.textContent === word) return
  badge.className = `badge ${mood}`
  badge.textContent = word
}

if (source !== undefined) openStream({ url: () => source, on: { parts: show }, onState: tell })
