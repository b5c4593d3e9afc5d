/// <reference lib="dom" />

/**
 * Saves input in the history entry, so that Back and reload restore it. Never saves passwords or searches; the message editor warns before leaving instead.
 */
const CONTROLS =
  'form[method=post]:not(#editor, .themes, .search) :is(input:not([type=hidden], [type=password]), textarea, select)'

/** Delay after typing; Safari allows 100 history changes in 30 seconds. */
const KEEP_AFTER_MS = 300

export type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement
/** By index of the control; booleans are checkbox states. */
type Typed = Record<string, string | boolean>

const isTicked = (control: Control): control is HTMLInputElement =>
  control.type === 'checkbox' || control.type === 'radio'

const findControls = (): [key: string, control: Control][] =>
  [...document.querySelectorAll<Control>(CONTROLS)].map((control) => {
    const key = `${control.form?.getAttribute('action')} ${control.name}`
    return [isTicked(control) ? `${key} ${control.value}` : key, control]
  })

export function isChanged(control: Control): boolean {
  if (control instanceof HTMLSelectElement) {
    const options = [...control.options]
    // without a default, the browser selects the first one
    const own = options.find(({ defaultSelected }) => defaultSelected) ?? options[0]
    return own?.selected === false
  }
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

// a link to the current page discards the saved input
const [visit] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
if (visit?.type !== 'navigate') bringBack((history.state ?? {}) as { typed?: Typed })
let pause: ReturnType<typeof setTimeout> | undefined
addEventListener('input', () => {
  clearTimeout(pause)
  pause = setTimeout(keep, KEEP_AFTER_MS)
})
// immediately, because this may be the last event; an unload listener would slow navigation
for (const name of ['change', 'submit']) addEventListener(name, keep)
