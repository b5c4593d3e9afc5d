/// <reference lib="dom" />
import { openStream, type StreamState } from './stream.ts'

/** Maximum rows on the page; older rows are on the next pages. */
const ROWS_MAX = 100
/** Rows that no longer match show their new state before they are removed, so that none vanishes while someone reads it. */
const LEAVING_MS = 3_000

/** Sent by dashboard/events/events-live.tsx and dashboard/requests/requests.tsx. */
type FeedRows = { html: string; count: number; cursor: string }
/**
 * Sent by dashboard/deliveries/deliveries-live.tsx: the rows of the first page, with the HTML of those that changed or
 * were on it. `end`: the last ID if more follow.
 */
type FeedPage = { ids: string[]; end: string; html: string }
type FeedCounts = { state: string; chart: string; names?: string; foot?: string }

const STATES: Record<StreamState | 'paused', { mood: string; word: string }> = {
  open: { mood: 'good', word: 'Refreshing' },
  paused: { mood: 'quiet', word: 'Paused' },
  interrupted: { mood: 'caution', word: 'Reconnecting' },
  'signed-out': { mood: 'bad', word: 'Signed out' },
  ended: { mood: 'caution', word: 'Stopped' },
  gone: { mood: 'caution', word: 'Stopped' },
}

const list = document.querySelector<HTMLOListElement>('[data-feed]')
if (list) followFeed(list)

/**
 * Adds new rows at the top, or shows the rows of a page. The rows stay while the list is hovered, focused, selected,
 * scrolled or paused, so that nothing moves while it is read.
 */
function followFeed(list: HTMLOListElement): void {
  const state = document.querySelector<HTMLElement>('[data-feed-state] .badge')
  const pause = document.querySelector<HTMLButtonElement>('[data-feed-pause]')
  const show = document.querySelector<HTMLButtonElement>('[data-feed-show]')
  /** the state of the list as soon as nobody reads it */
  let wanted: Element[] = [...list.children]
  let isLeaving = false
  let stream: StreamState | null = null

  const isPaused = (): boolean => pause?.getAttribute('aria-pressed') === 'true'
  const isHeld = (): boolean =>
    isPaused() ||
    list.matches(':hover, :focus-within') ||
    // pressing it shows the rows and moves the focus to the first new one
    show?.matches(':active, :focus') ||
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
  const showWaiting = (): void => {
    if (!show) return
    const count = wanted.filter((row) => !row.isConnected && row.hasAttribute('data-id')).length
    show.hidden = count === 0
    const noun = count === 1 ? show.dataset.feedShow : show.dataset.feedPlural
    show.textContent = `Show ${count === ROWS_MAX ? `the newest ${count}` : `${count} new`} ${noun}`
  }
  /** Rows that stay aren't moved, so that they keep the focus. */
  const arrange = (): void => {
    const gone = Array.from(list.children).filter((row) => !wanted.includes(row))
    for (const row of gone) row.remove()
    let place = list.firstElementChild
    for (const row of wanted) {
      if (row === place) place = row.nextElementSibling
      else {
        row.classList.add('new')
        list.insertBefore(row, place)
      }
    }
    pointOlder(list)
  }
  const isArranged = (): boolean =>
    wanted.length === list.children.length && wanted.every((row, index) => row === list.children[index])
  const arrangeUnlessHeld = (): void => {
    if (!isHeld()) {
      if (isLeaving) return
      if (!isArranged()) arrange()
    }
    showWaiting()
  }
  const take = ({ html, cursor }: FeedRows): void => {
    list.dataset.cursor = cursor
    wanted = merge(readRows(html), wanted).slice(0, ROWS_MAX)
    arrangeUnlessHeld()
  }

  const takePage = ({ ids, end, html }: FeedPage): void => {
    const known = new Map([...list.children, ...wanted].map((row) => [idOf(row), row]))
    for (const next of readRows(html)) {
      const row = known.get(idOf(next))
      if (row) update(row, next)
      else known.set(idOf(next), next)
    }
    wanted = ids.flatMap((id) => known.get(id) ?? [])
    for (const row of list.children) {
      const hasLeft = idOf(row) > end && !wanted.includes(row)
      if (hasLeft && !row.classList.contains('left')) leaveSoon()
      row.classList.toggle('left', hasLeft)
    }
    arrangeUnlessHeld()
  }
  const leaveSoon = (): void => {
    if (isLeaving) return
    isLeaving = true
    setTimeout(() => {
      isLeaving = false
      arrangeUnlessHeld()
    }, LEAVING_MS)
  }

  pause?.addEventListener('click', () => {
    pause.setAttribute('aria-pressed', String(!isPaused()))
    pause.textContent = isPaused() ? 'Resume' : 'Pause'
    showState()
    arrangeUnlessHeld()
  })
  show?.addEventListener('click', () => {
    const first = wanted.find((row) => !row.isConnected)
    arrange()
    showWaiting()
    first?.scrollIntoView({ block: 'center' })
    first?.querySelector('a')?.focus({ preventScroll: true })
  })
  const arrangeSoon = (): void => void setTimeout(arrangeUnlessHeld)
  for (const name of ['pointerleave', 'focusout']) list.addEventListener(name, arrangeSoon)
  show?.addEventListener('focusout', arrangeSoon)
  addEventListener('scroll', arrangeUnlessHeld, { passive: true })

  openStream({
    url: () => {
      const { feed = '', cursor } = list.dataset
      return cursor === undefined ? feed : `${feed}&after=${cursor}`
    },
    on: {
      rows: (data) => take(data as FeedRows),
      page: (data) => takePage(data as FeedPage),
      counts: (data) => showCounts(data as FeedCounts),
    },
    onState: (now) => {
      stream = now
      showState()
    },
  })
}

const idOf = (row: Element): string => row.getAttribute('data-id') ?? ''

/** IDs of requests are numbers; the others have one length. Rows without one are below any. */
const isBelow = (id: string, other: string): boolean =>
  id.length === other.length ? id < other : id.length < other.length

/** Rows of other instances may belong between those on the page, or be on it. */
function merge(found: Element[], rows: Element[]): Element[] {
  const merged = [...rows]
  for (const row of found.toReversed()) {
    const id = idOf(row)
    if (id !== '' && merged.some((one) => idOf(one) === id)) continue
    const place = id === '' ? 0 : merged.findIndex((one) => isBelow(idOf(one), id))
    merged.splice(place < 0 ? merged.length : place, 0, row)
  }
  return merged
}

function readRows(html: string): Element[] {
  const template = document.createElement('template')
  template.innerHTML = html
  return [...template.content.children]
}

/** The row is one link, which stays, so that it keeps the focus. Rows keep their place and height. */
function update(row: Element, next: Element): void {
  const [link, nextLink] = [row.querySelector('a'), next.querySelector('a')]
  if (link && nextLink && link.innerHTML !== nextLink.innerHTML) link.replaceChildren(...nextLink.childNodes)
}

/** New content of parts in use, shown once they are not in use. */
const unshown = new Map<Element, string>()

function showPart(part: Element): void {
  const html = unshown.get(part)
  if (html === undefined || part.matches(':hover, :focus-within')) return
  unshown.delete(part)
  part.innerHTML = html
}

for (const part of document.querySelectorAll('[data-feed-counts]'))
  for (const name of ['pointerleave', 'focusout']) part.addEventListener(name, () => setTimeout(() => showPart(part)))

/** Updates the summary, names, foot and chart unless they are in use. */
function showCounts({ chart, ...parts }: FeedCounts): void {
  for (const [name, html] of Object.entries(parts)) {
    const part = document.querySelector(`[data-feed-counts="${name}"]`)
    if (!part) continue
    unshown.set(part, html)
    showPart(part)
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
