/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Rows that a page keeps; beyond them the last ones go, and the pages of older events have them. */
const ROWS_MAX = 100
/** Rows that wait while somebody reads or has paused; beyond them the oldest go. */
const HELD_MAX = 100

/** What dashboard/events/events-live.tsx sends. */
type FeedRows = { html: string; count: number; cursor: string }
type FeedCounts = { state: string; chart: string; names: string }

const STATES: Record<StreamState | 'paused', { mood: string; word: string }> = {
  open: { mood: 'good', word: 'Live' },
  paused: { mood: 'quiet', word: 'Paused' },
  interrupted: { mood: 'caution', word: 'Interrupted, trying again' },
  'signed-out': { mood: 'bad', word: 'Signed out' },
  replaced: { mood: 'caution', word: 'Stopped' },
}

const list = document.querySelector<HTMLOListElement>('[data-feed]')
if (list) followFeed(list)

/**
 * Puts what comes on top of the list. What is being read is never moved: while the pointer or the focus is in the list, a
 * part of it is selected, its top is out of sight or it is paused, new rows wait, and a button says how many.
 */
function followFeed(list: HTMLOListElement): void {
  const state = document.querySelector<HTMLElement>('[data-feed-state] .badge')
  const pause = document.querySelector<HTMLButtonElement>('[data-feed-pause]')
  const show = document.querySelector<HTMLButtonElement>('[data-feed-show]')
  let held: Element[] = []
  let stream: StreamState | null = null

  const isPaused = (): boolean => pause?.getAttribute('aria-pressed') === 'true'
  const isRead = (): boolean =>
    list.matches(':hover, :focus-within') ||
    list.getBoundingClientRect().top < 0 ||
    (getSelection()?.isCollapsed === false && list.contains(getSelection()?.anchorNode ?? null))

  const sayState = (): void => {
    if (!state || stream === null) return
    const { mood, word } = STATES[isPaused() && stream === 'open' ? 'paused' : stream]
    state.parentElement?.classList.add('said')
    if (state.textContent === word) return
    state.className = `badge ${mood}`
    state.textContent = word
  }
  const sayHeld = (): void => {
    if (!show) return
    const count = held.filter((row) => row.hasAttribute('data-id')).length
    show.hidden = count === 0
    show.textContent = `Show ${count === HELD_MAX ? `the newest ${count}` : count} new ${count === 1 ? 'event' : 'events'}`
  }
  const insert = (): void => {
    for (const row of held) row.classList.add('new')
    list.prepend(...held)
    held = []
    while (list.children.length > ROWS_MAX) list.lastElementChild?.remove()
    pointOlder(list)
    sayHeld()
  }
  const insertIfUnread = (): void => {
    if (held.length > 0 && !isPaused() && !isRead()) insert()
  }
  const take = ({ html, cursor }: FeedRows): void => {
    list.dataset.cursor = cursor
    const template = document.createElement('template')
    template.innerHTML = html
    held = [...template.content.children, ...held].slice(0, HELD_MAX)
    insertIfUnread()
    sayHeld()
  }

  pause?.addEventListener('click', () => {
    pause.setAttribute('aria-pressed', String(!isPaused()))
    pause.textContent = isPaused() ? 'Go on' : 'Pause'
    sayState()
    insertIfUnread()
  })
  show?.addEventListener('click', () => {
    insert()
    list.scrollIntoView({ block: 'center' })
    list.querySelector<HTMLElement>('a')?.focus({ preventScroll: true })
  })
  for (const name of ['pointerleave', 'focusout']) list.addEventListener(name, () => setTimeout(insertIfUnread))
  addEventListener('scroll', insertIfUnread, { passive: true })

  openStream({
    url: () => `${list.dataset.feed}&after=${list.dataset.cursor}`,
    on: { rows: (data) => take(data as FeedRows), counts: (data) => showCounts(data as FeedCounts) },
    onState: (now) => {
      stream = now
      sayState()
    },
  })
}

/** The sentence, the names and the chart's numbers, but for a part that is being read. */
function showCounts({ chart, ...parts }: FeedCounts): void {
  for (const [name, html] of Object.entries(parts)) {
    const part = document.querySelector(`[data-feed-counts="${name}"]`)
    if (part && !part.matches(':hover, :focus-within')) part.innerHTML = html
  }
  const figure = document.querySelector('.counts .chart')
  const template = document.createElement('template')
  template.innerHTML = chart
  for (const selector of ['tbody', '[data-told]']) {
    const next = template.content.querySelector(selector)
    if (next) figure?.querySelector(selector)?.replaceChildren(...next.childNodes)
  }
  figure?.dispatchEvent(new Event('counts'))
}

/** Rows that went from the end are on the page of older events. */
function pointOlder(list: HTMLOListElement): void {
  const older = document.querySelector<HTMLAnchorElement>('.pager [rel=next]')
  const last = [...list.querySelectorAll<HTMLElement>('[data-id]')].at(-1)
  if (!older || !last?.dataset.id) return
  const url = new URL(older.href)
  url.searchParams.set('before', last.dataset.id)
  older.href = url.href
}
