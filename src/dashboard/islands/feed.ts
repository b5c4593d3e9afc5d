/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Maximum rows on the page; older rows are on the next pages. */
const ROWS_MAX = 100
/** Maximum rows buffered while paused; the oldest are dropped. */
const PENDING_MAX = 100

/** Sent by dashboard/events/events-live.tsx, dashboard/requests/requests.tsx and dashboard/deliveries/deliveries-live.tsx. */
type FeedRows = { html: string; count: number; cursor: string }
type FeedCounts = { state: string; chart: string; names?: string }

const STATES: Record<StreamState | 'paused', { mood: string; word: string }> = {
  open: { mood: 'good', word: 'Refreshing' },
  paused: { mood: 'quiet', word: 'Paused' },
  interrupted: { mood: 'caution', word: 'Reconnecting' },
  'signed-out': { mood: 'bad', word: 'Signed out' },
  replaced: { mood: 'caution', word: 'Stopped' },
}

const list = document.querySelector<HTMLOListElement>('[data-feed]')
if (list) followFeed(list)

/**
 * Adds new rows at the top. Rows are buffered while the list is hovered, focused, selected, scrolled or paused, so that
 * nothing moves while it is read.
 */
function followFeed(list: HTMLOListElement): void {
  const state = document.querySelector<HTMLElement>('[data-feed-state] .badge')
  const pause = document.querySelector<HTMLButtonElement>('[data-feed-pause]')
  const show = document.querySelector<HTMLButtonElement>('[data-feed-show]')
  let pending: Element[] = []
  let stream: StreamState | null = null

  const isPaused = (): boolean => pause?.getAttribute('aria-pressed') === 'true'
  const isRead = (): boolean =>
    list.matches(':hover, :focus-within') ||
    list.getBoundingClientRect().top < 0 ||
    (getSelection()?.isCollapsed === false && list.contains(getSelection()?.anchorNode ?? null))

  const showState = (): void => {
    if (!state || stream === null) return
    const { mood, word } = STATES[isPaused() && stream === 'open' ? 'paused' : stream]
    state.parentElement?.classList.add('said')
    if (state.textContent === word) return
    state.className = `badge ${mood}`
    state.textContent = word
  }
  const showBuffered = (): void => {
    if (!show) return
    const count = pending.filter((row) => row.hasAttribute('data-id')).length
    show.hidden = count === 0
    const noun = count === 1 ? show.dataset.feedShow : show.dataset.feedPlural
    show.textContent = `Show ${count === PENDING_MAX ? `the newest ${count}` : `${count} new`} ${noun}`
  }
  const insert = (): void => {
    for (const row of pending) row.classList.add('new')
    list.prepend(...pending)
    pending = []
    while (list.children.length > ROWS_MAX) list.lastElementChild?.remove()
    pointOlder(list)
    showBuffered()
  }
  const insertIfUnread = (): void => {
    if (pending.length > 0 && !isPaused() && !isRead()) insert()
  }
  const take = ({ html, cursor }: FeedRows): void => {
    list.dataset.cursor = cursor
    const template = document.createElement('template')
    template.innerHTML = html
    pending = [...template.content.children, ...pending].slice(0, PENDING_MAX)
    insertIfUnread()
    showBuffered()
  }

  /** Rows keep their place and height. */
  const change = ({ html }: { html: string }): void => {
    const template = document.createElement('template')
    template.innerHTML = html
    const rows = new Map([...pending, ...list.children].map((row) => [row.getAttribute('data-id'), row]))
    for (const next of template.content.children) {
      const row = rows.get(next.getAttribute('data-id'))
      if (row && !row.matches(':focus-within')) row.replaceChildren(...next.childNodes)
    }
  }

  pause?.addEventListener('click', () => {
    pause.setAttribute('aria-pressed', String(!isPaused()))
    pause.textContent = isPaused() ? 'Resume' : 'Pause'
    showState()
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
    on: {
      rows: (data) => take(data as FeedRows),
      changed: (data) => change(data as { html: string }),
      counts: (data) => showCounts(data as FeedCounts),
    },
    onState: (now) => {
      stream = now
      showState()
    },
  })
}

/** Updates the summary, names and chart unless they are in use. */
function showCounts({ chart, ...parts }: FeedCounts): void {
  for (const [name, html] of Object.entries(parts)) {
    const part = document.querySelector(`[data-feed-counts="${name}"]`)
    if (part && !part.matches(':hover, :focus-within')) part.innerHTML = html
  }
  const figure = document.querySelector('.counts .chart')
  const template = document.createElement('template')
  template.innerHTML = chart
  if (figure?.matches(':hover')) return
  for (const selector of ['.plot', 'tbody', '[data-chart-value]']) {
    const next = template.content.querySelector(selector)
    if (next) figure?.querySelector(selector)?.replaceChildren(...next.childNodes)
  }
}

/** Removed rows are on the next page. */
function pointOlder(list: HTMLOListElement): void {
  const older = document.querySelector<HTMLAnchorElement>('.pager [rel=next]')
  const last = [...list.querySelectorAll<HTMLElement>('[data-id]')].at(-1)
  if (!older || !last?.dataset.id) return
  const url = new URL(older.href)
  url.searchParams.set('before', last.dataset.id)
  older.href = url.href
}
