/// <reference lib="dom" />
/** Shows results while typing, and marks the section that is being read. */

export {}

const TYPED_MS = 120
const SHOWN = 8

for (const form of document.querySelectorAll<HTMLFormElement>('.docs-search')) searchWhileTyping(form)

function searchWhileTyping(form: HTMLFormElement): void {
  const input = form.querySelector('input')
  const found = form.querySelector<HTMLElement>('.docs-found')
  if (!input || !found) return
  let timer = 0
  const close = (): void => void (found.hidden = true)
  input.addEventListener('input', () => {
    clearTimeout(timer)
    if (input.value.trim() === '') close()
    else timer = window.setTimeout(() => void show(input, found), TYPED_MS)
  })
  form.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !form.contains(relatedTarget)) close()
  })
  form.addEventListener('keydown', (event) => move(event, form, close))
  // a click on a link must not take the focus away first
  found.addEventListener('mousedown', (event) => event.preventDefault())
}

async function show(input: HTMLInputElement, found: HTMLElement): Promise<void> {
  const query = input.value
  const response = await fetch(`/docs/search?${new URLSearchParams({ q: query })}`).catch(() => null)
  if (!response?.ok || input.value !== query || document.activeElement !== input) return
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  const results = page.querySelector('.docs-results')
  for (const further of [...(results?.children ?? [])].slice(SHOWN)) further.remove()
  const nothing = document.createElement('p')
  nothing.textContent = 'Nothing found.'
  found.replaceChildren(results ?? nothing)
  found.hidden = false
  const status = found.parentElement?.querySelector('[role=status]')
  if (status) status.textContent = page.querySelector('.lead')?.textContent ?? ''
}

/** Arrows move between the results. */
function move(event: KeyboardEvent, form: HTMLFormElement, close: () => void): void {
  if (event.key === 'Escape') return close()
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const targets = [...form.querySelectorAll<HTMLElement>('input, .docs-found:not([hidden]) a')]
  const place = targets.findIndex((target) => target === document.activeElement)
  const next = targets[place + (event.key === 'ArrowDown' ? 1 : -1)]
  if (!next) return
  event.preventDefault()
  next.focus()
}

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
  const inputs = [...document.querySelectorAll<HTMLInputElement>('.docs-search input')]
  const shown = inputs.find((input) => input.offsetParent !== null)
  if (!shown) return
  event.preventDefault()
  shown.focus()
})

/** Scrolls the list of pages to the current one, because it is longer than most windows. */
function showCurrentPage(): void {
  for (const current of document.querySelectorAll<HTMLElement>('.docs-links [aria-current=page]')) {
    const list = current.closest<HTMLElement>('.sidebar > .docs-links, .docs-pages')
    if (!list) continue
    const below = current.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom
    if (below > 0) list.scrollTop += below + list.clientHeight / 2
  }
}

showCurrentPage()
for (const menu of document.querySelectorAll('#menu, #pages')) menu.addEventListener('toggle', showCurrentPage)

const links = new Map(
  Array.from(document.querySelectorAll<HTMLAnchorElement>('.docs-headings a'), (link) => [
    decodeURIComponent(link.hash.slice(1)),
    link,
  ]),
)
const headings = [...document.querySelectorAll('.docs h2')].filter(({ id }) => links.has(id))

/** A heading counts as reached below the upper edge of the window. */
const EDGE = 120

function markCurrent(): void {
  const { scrollHeight } = document.documentElement
  // a short last section never reaches the edge
  const isAtEnd = scrollY > 0 && scrollY + innerHeight >= scrollHeight - 1
  const reached = isAtEnd ? headings.at(-1) : headings.findLast((heading) => heading.getBoundingClientRect().top < EDGE)
  for (const [id, link] of links) {
    if (id === reached?.id) link.setAttribute('aria-current', 'location')
    else link.removeAttribute('aria-current')
  }
}

if (headings.length > 0) {
  markCurrent()
  document.addEventListener('scroll', markCurrent, { passive: true })
}
