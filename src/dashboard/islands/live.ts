/// <reference lib="dom" />
import { openStream } from './stream.ts'

/** Keeps the parts of a page that carry `data-live` as the server would show them now. */
const source = document.querySelector<HTMLElement>('[data-live-from]')?.dataset.liveFrom

/** By the name of each part, its HTML: rendered by the same components as the page itself. */
function show(data: unknown): void {
  for (const [name, html] of Object.entries(data as Record<string, string>)) {
    const part = document.querySelector(`[data-live="${name}"]`)
    // untouched where nothing is new, so that nobody hears it again
    if (part && part.innerHTML !== html) part.innerHTML = html
  }
}

if (source !== undefined) {
  const badge = document.querySelector('.live')
  const say = (state: string): void => void badge?.setAttribute('data-state', state)
  openStream({ url: () => source, on: { parts: show }, onState: say })
}
