/// <reference lib="dom" />
/** Scripts of every page; the pages also work without them. */
import { pageAbove } from '../layout/forms.ts'
import './ages.ts'
import { fitHeight, inScheme } from './mail-scheme.ts'
import { type Control, isChanged } from './typed.ts'

/** Aborted once the secret is stored, or the member signs out. */
const asking = new AbortController()

// "Back" and reloading lead to the page behind, because the form that made a secret can't be sent again
const secret = document.querySelector<HTMLElement>('.secret[data-next]')
if (secret) {
  history.replaceState(null, '', secret.dataset.next)
  askUntilStored(secret)
}

/** Asks before a secret is lost that can't be shown again. A session that ends removes it. */
function askUntilStored(secret: HTMLElement): void {
  const ask = (event: Event): void => void (secret.isConnected && event.preventDefault())
  addEventListener('beforeunload', ask, { signal: asking.signal })
  secret.querySelector(':scope > .primary')?.addEventListener('click', () => asking.abort())
}

/** Part of the tab before the current one. */
const BEFORE = 64

// on phones, tabs are one row that scrolls
const tabs = document.querySelector('.sections')
const currentTab = tabs?.querySelector<HTMLElement>('[aria-current]')
if (tabs && currentTab) tabs.scrollLeft = currentTab.offsetLeft - BEFORE
tabs?.addEventListener('focusin', ({ target }) => {
  // only for the keyboard: a click would miss a tab that scrolls away
  if (target instanceof Element && target.matches(':focus-visible'))
    target.scrollIntoView({ block: 'nearest', inline: 'nearest' })
})

const LOOK_MS = 250
const LOOK = ['logoUrl', 'colour', 'postalAddress']

/** Updates the sample on Sender. A new frame, unlike a new URL in the old one, adds no history entry. */
function showLook(form: HTMLFormElement): void {
  const data = new FormData(form)
  const look = new URLSearchParams(LOOK.map((name) => [name, String(data.get(name))]))
  for (const frame of document.querySelectorAll<HTMLIFrameElement>('[data-mail] iframe')) {
    const next = frame.cloneNode() as HTMLIFrameElement
    next.src = inScheme(`${new URL(form.action).pathname}/sample?${look}`, frame)
    frame.replaceWith(next)
  }
}

const lookForm = document.querySelector<HTMLFormElement>('form#from')
let lookPause: ReturnType<typeof setTimeout> | undefined
lookForm?.addEventListener('input', ({ target }) => {
  if (!(target instanceof HTMLElement && LOOK.includes(target.id))) return
  clearTimeout(lookPause)
  lookPause = setTimeout(showLook, LOOK_MS, lookForm)
})

const isMail = (target: EventTarget | null): target is HTMLIFrameElement =>
  target instanceof HTMLIFrameElement && target.matches('.screen > iframe')

document.addEventListener('load', ({ target }) => isMail(target) && fitHeight(target), true)
// loaded before this script
for (const frame of document.querySelectorAll<HTMLIFrameElement>('.screen > iframe')) {
  if (frame.contentDocument?.URL === frame.src) fitHeight(frame)
}

/** Emails in dark mode. */
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches('.dark-mail > input')) return
  for (const frame of target.closest('.mail')?.querySelectorAll('iframe') ?? []) {
    const next = frame.cloneNode() as HTMLIFrameElement
    next.src = inScheme(frame.src, frame)
    frame.replaceWith(next)
  }
})

const SHOWN_MS = 2_000

async function copy(button: HTMLButtonElement): Promise<void> {
  const source = document.getElementById(button.dataset.copy ?? '')
  const word = button.querySelector('[aria-live]')
  if (!source || !word) return
  try {
    await navigator.clipboard.writeText(source.textContent)
    word.textContent = 'Copied'
  } catch {
    // no clipboard over plain http: select the text instead
    getSelection()?.selectAllChildren(source)
    word.textContent = 'Selected'
  }
  setTimeout(() => (word.textContent = 'Copy'), SHOWN_MS)
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('button[data-copy]') : null
  if (button instanceof HTMLButtonElement) void copy(button)
})

/** Shows all samples of the page in the chosen language, and remembers it. What the reader looks at stays in place. */
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches('[data-languages] > input')) return
  const before = target.parentElement?.getBoundingClientRect().top ?? 0
  for (const other of document.querySelectorAll<HTMLInputElement>('[data-languages] > input')) {
    if (other.value === target.value) other.checked = true
  }
  scrollBy(0, (target.parentElement?.getBoundingClientRect().top ?? 0) - before)
  void fetch('/language', { method: 'POST', body: new URLSearchParams({ language: target.value }) })
})

/** Shared by the tabs of a browser. */
const channel = new BroadcastChannel('eventpost-session')

const signOut = document.querySelector<HTMLFormElement>('form[action="/sign-out"]')
if (signOut) watchSession(signOut)
// the sign-in page may mean that the session ended: other tabs check
else if (document.querySelector('form[action="/sign-in"]')) channel.postMessage('ask')

/** Clears the page when the session ends, here or in another tab. */
function watchSession(form: HTMLFormElement): void {
  form.addEventListener('submit', () => {
    asking.abort()
    tellOnceLeft()
  })
  channel.addEventListener('message', ({ data }: MessageEvent<string>) => {
    void leaveIfSignedOut(data === 'signed-out')
  })
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void leaveIfSignedOut()
  })
  window.addEventListener('pageshow', async ({ persisted }) => {
    if (!persisted) return
    document.body.hidden = true
    await leaveIfSignedOut()
    document.body.hidden = false
  })
}

/** Tells other tabs once the server has answered the sign-out. Unsaved changes may keep the member on the page. */
function tellOnceLeft(): void {
  const stayed = new AbortController()
  let attempts = 0
  const count = (): void => void (++attempts > 1 && stayed.abort())
  addEventListener('beforeunload', count, { signal: stayed.signal })
  addEventListener('pagehide', () => channel.postMessage('signed-out'), { once: true, signal: stayed.signal })
}

/** Clears the page first. Navigates instead of reloading where that would resubmit a form. */
function leave(): void {
  document.body.replaceChildren()
  if (document.documentElement.dataset.form === 'sent') location.replace(pageAbove(location.pathname))
  else location.reload()
}

/** Input stays unless the member signed out. */
async function leaveIfSignedOut(byMember = false): Promise<void> {
  const response = await fetch('/session', { method: 'HEAD' }).catch(() => null)
  if (response?.status === 401 && (byMember || !isTyped())) leave()
}

/** What a form would save, unlike filters and views of the page. */
const isInput = (control: Control): boolean =>
  control.form?.getAttribute('method') === 'post' && !control.closest('.mail, .panes, #preview')

/** Also what the message editor shows as unsaved, such as an added part. */
const isTyped = (): boolean =>
  document.querySelector('#unsaved:not([hidden])') !== null ||
  [...document.querySelectorAll<Control>('main :is(input, textarea, select)')].some(
    (control) => isInput(control) && isChanged(control),
  )

/** The app switcher, or a part of a message's sentence. */
const openFloating = (): HTMLDetailsElement | null => document.querySelector('.switcher[open], .part[open]')

/** Closes it on Escape or a click outside. */
document.addEventListener('click', (event) => {
  const open = openFloating()
  if (open && event.target instanceof Node && !open.contains(event.target)) open.open = false
})

/** Scrolls to the current app. */
document.querySelector('.switcher')?.addEventListener('toggle', () => {
  const apps = document.querySelector<HTMLElement>('.switcher .account-apps')
  const current = apps?.querySelector<HTMLElement>('[aria-current]')
  if (apps && current) apps.scrollTop = current.offsetTop - (apps.clientHeight - current.offsetHeight) / 2
})

/** Closes when focus moves behind it. */
document.addEventListener('focusout', ({ relatedTarget }) => {
  const open = openFloating()
  if (open && relatedTarget instanceof Node && !open.contains(relatedTarget)) open.open = false
})

document.addEventListener('keydown', (event) => {
  const open = openFloating()
  if (!open || event.key !== 'Escape') return
  open.open = false
  open.querySelector('summary')?.focus()
})

/** Changes the theme without reloading, so that input is kept. */
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event
  if (!(form instanceof HTMLFormElement) || !form.matches('.themes') || !(submitter instanceof HTMLButtonElement))
    return
  event.preventDefault()
  document.documentElement.dataset.theme = submitter.value
  for (const button of form.querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === submitter))
  }
  const body = new URLSearchParams({ theme: submitter.value, to: '/' })
  void fetch(form.action, { method: 'POST', body, redirect: 'manual' })
})
