/// <reference lib="dom" />

const openSwitcher = (): HTMLDetailsElement | null => document.querySelector('.switcher[open]')

/** A list that floats closes with a click beside it and with Escape, as people expect of one. */
document.addEventListener('click', (event) => {
  const open = openSwitcher()
  if (open && event.target instanceof Node && !open.contains(event.target)) open.open = false
})

/** A long list opens where one is. */
document.querySelector('.switcher')?.addEventListener('toggle', () => {
  const places = document.querySelector<HTMLElement>('.switcher .places')
  const current = places?.querySelector<HTMLElement>('[aria-current]')
  if (places && current) places.scrollTop = current.offsetTop - (places.clientHeight - current.offsetHeight) / 2
})

/** What lies under the list is out of sight: once the focus is there, the list is in the way. */
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
