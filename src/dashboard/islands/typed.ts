/// <reference lib="dom" />

/**
 * What was typed stays with this place in the history of the tab, so that Back from a refused form and reload bring it
 * again. Never a password, the address that may hold one, or whom somebody looked for; the editor of messages, whose
 * rows come and go, asks before it is left instead.
 */
const KEPT =
  'form[method=post]:not([data-editor], .themes, .search) :is(input:not([type=hidden], [type=password], [name=smtpUrl]), textarea, select)'

/** After the last key; Safari takes 100 changes of the history in 30 seconds. */
const KEEP_AFTER_MS = 300

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement
/** By the place of each control among the others; true and false are of those that are ticked. */
type Typed = Record<string, string | boolean>

const isTicked = (control: Control): control is HTMLInputElement =>
  control.type === 'checkbox' || control.type === 'radio'

const findControls = (): [key: string, control: Control][] =>
  [...document.querySelectorAll<Control>(KEPT)].map((control) => {
    const key = `${control.form?.getAttribute('action')} ${control.name}`
    return [isTicked(control) ? `${key} ${control.value}` : key, control]
  })

function isChanged(control: Control): boolean {
  if (control instanceof HTMLSelectElement)
    return [...control.options].some(({ selected, defaultSelected }) => selected !== defaultSelected)
  return isTicked(control) ? control.checked !== control.defaultChecked : control.value !== control.defaultValue
}

function keep(): void {
  const changed = findControls().filter(([, control]) => isChanged(control))
  const typed = changed.map(([key, control]) => [key, isTicked(control) ? control.checked : control.value])
  history.replaceState({ typed: Object.fromEntries(typed) }, '')
}

function bringBack({ typed = {} }: { typed?: Typed }): void {
  for (const [key, control] of findControls()) {
    const value = typed[key]
    if (typeof value === 'boolean' && isTicked(control)) control.checked = value
    if (typeof value === 'string') control.value = value
  }
}

// a link to the page that one is on keeps its place, and asks for it anew
const [visit] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
if (visit?.type !== 'navigate') bringBack((history.state ?? {}) as { typed?: Typed })
let pause: ReturnType<typeof setTimeout> | undefined
addEventListener('input', () => {
  clearTimeout(pause)
  pause = setTimeout(keep, KEEP_AFTER_MS)
})
// at once where it may be the last that this page hears; listening for its end would make every page slower to leave
for (const name of ['change', 'submit']) addEventListener(name, keep)
