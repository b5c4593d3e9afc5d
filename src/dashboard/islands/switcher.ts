/// <reference lib="dom" />

const openSwitcher = (): HTMLDetailsElement | null => document.querySelector('.switcher[open]')

/** Closes the list on Escape or a click outside. */
document.addEventListener('click', (event) => {
  const open = openSwitcher()
  if (open && event.target instanceof Node && !open.contains(event.target)) open.open = false
})

/** Scrolls to the current app. */
document.querySelector('.switcher')?.addEventListener('toggle', () => {
  const places = document.querySelector<HTMLElement>('.switcher .places')
  const current = places?.querySelector<HTMLElement>('[aria-current]')
  if (places && current) places.scrollTop = current.offsetTop - (places.clientHeight - current.offsetHeight) / 2
})

/** Closes when focus moves behind the list. */
document.addEventListener('focusout', ({ relatedTarget }) => {
  const open = openSwitcher()
  if (open && relatedTarget instanceof Node && !open.contains(relatedTarget)) open.open = false
})

document.addEventListener('keydown', (event) => {
  const open = openSwitcher()
  if (!open || event.key !== 'Escape') return
  open.open = false
  open.querySelector('summary')?.focus()
})
