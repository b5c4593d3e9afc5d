/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Keeps the parts of a page that carry `data-live` as the server would show them now. */
const source = document.querySelector<HTMLElement>('[data-live-from]')?.dataset.liveFrom

/** By the name of each part, its HTML: rendered by the components that render the page itself. */
function show(data: unknown): void {
  for (const [name, html] of Object.entries(data as Record<string, string>)) {
    const part = document.querySelector(`[data-live="${name}"]`)
    const next = document.createElement('template')
    next.innerHTML = html
    // untouched where nothing is new, so that nobody hears it again
    if (part && part.innerHTML !== next.innerHTML) part.replaceChildren(next.content)
  }
}

const WORDS: Record<StreamState, [word: string, mood: string]> = {
  open: ['Live', 'good'],
  interrupted: ['Interrupted, trying again', 'caution'],
  'signed-out': ['Signed out', 'bad'],
  replaced: ['Stopped', 'caution'],
}

function tell(state: StreamState): void {
  const badge = document.querySelector('[data-live-state]')
  const [word, mood] = WORDS[state]
  if (!badge || badge.textContent === word) return
  badge.className = `badge ${mood}`
  badge.textContent = word
}

if (source !== undefined) openStream({ url: () => source, on: { parts: show }, onState: tell })
