/// <reference lib="dom" />
import { formatCount } from '../../core/count.ts'
import { inScheme, SANDBOX } from './mail-scheme.ts'

/** Delays after typing, by cost: the preview reads one event, the check up to thousands, the count a month of them. */
const DELAYS_MS = { preview: 150, check: 600, reach: 1_500 }
type Show = keyof typeof DELAYS_MS

type Answer = {
  fragments: Record<string, string>
  /** of the preview; everything except the text is HTML */
  mail?: { from: string; subject: string; text: string; src: string } | null
  /** of the check: HTML of errors by field */
  faults?: Record<string, string>
  /** those that are shown before the form is submitted */
  marks?: Record<string, string>
}

const form = document.querySelector<HTMLFormElement>('#editor')
if (form) followEditor(form)

/** Updates preview, checks and count while typing, and lets buttons update part of the page. */
function followEditor(form: HTMLFormElement): void {
  const preview = form.querySelector<HTMLElement>('[data-preview]')
  const url = preview?.dataset.preview ?? ''
  const isStored = form.querySelector<HTMLInputElement>('[name=basedOn]')?.value !== ''
  const timers = new Map<Show, ReturnType<typeof setTimeout>>()
  const asking = new Map<Show, AbortController>()

  const refresh = async (kind: Show): Promise<void> => {
    clearTimeout(timers.get(kind))
    asking.get(kind)?.abort()
    const { signal } = asking.set(kind, new AbortController()).get(kind) ?? {}
    const data = new FormData(form)
    data.set('show', kind)
    const answer = await ask(url, data, signal)
    if (signal?.aborted) return
    if (answer) show(answer)
    // without an answer, the server still refuses what is wrong
    if (kind === 'check') refuseLive(answer === null ? false : undefined)
  }
  const refreshSoon = (...kinds: Show[]): void => {
    for (const kind of kinds) {
      clearTimeout(timers.get(kind))
      timers.set(
        kind,
        setTimeout(() => void refresh(kind), DELAYS_MS[kind]),
      )
    }
  }
  refuseLive()
  document.getElementById('go-live')?.addEventListener('beforetoggle', () => void refresh('check'))
  // the browser restores typed values, but the page shows the stored ones
  addEventListener('pageshow', (event) => {
    if (document.querySelector('#unsaved:not([hidden])')) askBeforeLeaving()
    const isOld = event instanceof PageTransitionEvent && event.persisted
    if (preview && (isOld || hasChanged(form))) refreshSoon('preview', 'check', 'reach')
    // an empty form has no errors yet, and a refusal stays until something changes
    else if (isStored && !document.querySelector('#refused > *'))
      for (const kind of ['check', 'reach'] as const) void refresh(kind)
  })
  form.addEventListener('input', ({ target }) => {
    if (!(target instanceof Element) || target.closest('.mail, .panes, #checks')) return
    if (target.closest('#preview')) return refreshSoon('preview')
    askBeforeLeaving()
    refreshSoon('preview', 'check', 'reach')
  })
  form.addEventListener('submit', (event) => {
    const button = event.submitter
    if (!(button instanceof HTMLButtonElement)) return
    const part = button.closest<HTMLDetailsElement>('details.part')
    if (part && button.value === 'preview') {
      event.preventDefault()
      return closePart(part)
    }
    if (button.value === 'preview') {
      event.preventDefault()
      return void refresh('preview')
    }
    const section = document.getElementById(button.dataset.for ?? '') ?? button.closest<HTMLElement>('[data-part]')
    if (!section) return leaving.abort()
    event.preventDefault()
    void changePart(form, section, button).then((isDone) => {
      if (!isDone || button.value.startsWith('simulate') || button.value === 'test') return
      if (/^(?:add|either|remove|fix) /.test(button.value)) askBeforeLeaving()
      refreshSoon('preview', 'check', 'reach')
    })
  })
  // a phone may be too small for the sentence and the fields below it
  form.addEventListener('toggle', ({ target }) => showFields(target), { capture: true })
  form.addEventListener('keydown', (event) => closeWithEnter(event))
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
    const save = document.querySelector<HTMLButtonElement>('button[form=editor][value=save]')
    if (!save) return
    event.preventDefault()
    form.requestSubmit(save)
  })
  // without one, the browser may have restored the choice
  if (location.hash !== '') showPaneOf(location.hash)
  addEventListener('hashchange', () => showPaneOf(location.hash))
  document.addEventListener('click', ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href^="#"]') : null
    // so that its target is in view
    link?.closest<HTMLElement>('[popover]')?.hidePopover()
    // before the browser focuses the field
    if (link) showPaneOf(link.hash)
    const chip = target instanceof Element ? target.closest<HTMLElement>('[data-insert]') : null
    if (chip) insert(chip.dataset.insert ?? '')
  })
  let typed = form.querySelector<HTMLTextAreaElement>('#mail textarea')
  form.addEventListener('focusin', ({ target }) => {
    const isText = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement
    if (isText && target.closest('#mail')) typed = target as HTMLTextAreaElement
  })
  /** Inserts at the cursor of the field that had it last, so that undo works. */
  const insert = (text: string): void => {
    if (!typed || typed.readOnly) return
    typed.focus()
    document.execCommand('insertText', false, text)
  }
}

/** A phone shows one pane, and a link may lead to another one. Without a hash, it is the first one again. */
function showPaneOf(hash: string): void {
  const target = findTarget(hash)
  const pane = target?.closest<HTMLElement>('[data-pane]')?.dataset.pane
  const choice = document.querySelector<HTMLInputElement>(hash === '' ? '.panes [checked]' : `.panes [value="${pane}"]`)
  if (!choice || choice.checked) return
  choice.checked = true
  target?.scrollIntoView()
}

/** null for a malformed hash, too. */
function findTarget(hash: string): Element | null {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)))
  } catch {
    return null
  }
}

/** In a part of the sentence, Enter closes the part instead of saving. In the field of a new language, it adds it. */
function closeWithEnter(event: KeyboardEvent): void {
  const { key, target } = event
  if (key !== 'Enter' || !(target instanceof HTMLInputElement)) return
  const adding = target.closest('.beside')?.querySelector<HTMLButtonElement>('button[value="add mail.variants"]')
  if (adding) {
    event.preventDefault()
    return adding.click()
  }
  const part = target.closest<HTMLDetailsElement>('.part')
  if (!part) return
  event.preventDefault()
  closePart(part)
}

/** Scrolls the fields of an opened part into view. */
function showFields(part: EventTarget | null): void {
  if (part instanceof HTMLElement && part.matches('.part[open]'))
    part.querySelector('.part-fields')?.scrollIntoView({ block: 'nearest' })
}

function closePart(part: HTMLDetailsElement): void {
  part.open = false
  part.querySelector('summary')?.focus()
}

function hasChanged(form: HTMLFormElement): boolean {
  for (const field of form.elements) {
    const isText = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.type === 'text')
    if (isText && field.value !== field.defaultValue) return true
  }
  return false
}

/** Aborted when the form is replaced. */
const leaving = new AbortController()

/** Asks before unsaved input is lost. Signing out in another tab removes it. */
function askBeforeLeaving(): void {
  document.getElementById('unsaved')?.removeAttribute('hidden')
  addEventListener('beforeunload', preventLeaving, { signal: leaving.signal })
}
const preventLeaving = (event: Event): void => void (document.getElementById('unsaved') && event.preventDefault())

const post = (url: string, data: FormData, signal?: AbortSignal): Promise<Response> => {
  const body = new URLSearchParams([...data].map(([name, value]) => [name, String(value)]))
  return fetch(url, { method: 'POST', body, signal })
}

/** null on an unexpected answer: the page stays unchanged. */
async function ask(url: string, data: FormData, signal?: AbortSignal): Promise<Answer | null> {
  try {
    const answer = await post(url, data, signal)
    const isJson = answer.ok && answer.headers.get('content-type')?.startsWith('application/json')
    return isJson ? ((await answer.json()) as Answer) : null
  } catch {
    return null
  }
}

function putAll(fragments: Record<string, string>): void {
  for (const [id, html] of Object.entries(fragments)) put(document.getElementById(id), html)
}

function show({ fragments, mail, faults, marks = {} }: Answer): void {
  putAll(fragments)
  if (faults) renewFaults(new Map(Object.entries(faults)))
  for (const [name, html] of Object.entries(marks)) markFault(name, html)
  if (mail === undefined) return
  // keep showing the last valid preview
  document.querySelector('[data-mail]')?.classList.toggle('stale', mail === null)
  if (!mail) return
  for (const part of document.querySelectorAll<HTMLElement>('[data-mail-part]')) {
    const name = part.dataset.mailPart
    if (name === 'from' || name === 'subject') put(part, mail[name])
    if (name === 'text') part.textContent = mail.text
  }
  for (const screen of document.querySelectorAll<HTMLElement>('[data-mail-frame]')) reload(screen, mail.src)
}

/** While the checks in the dialog refuse it. */
function refuseLive(isRefused = document.querySelector('#go-live .refuses') !== null): void {
  const button = document.querySelector<HTMLButtonElement>('#go-live [value=live]')
  if (button) button.disabled = isRefused
}

/** As after saving: below the label and hint of its field. */
function markFault(name: string, html: string): void {
  const control = document.getElementById(name)
  const field = control?.closest('.field')
  const above = field?.querySelector(':scope > .hint') ?? field?.querySelector(':scope > label')
  const fault = readFault(html)
  if (!control || !field || !above || !fault || document.getElementById(fault.id)) return
  above.after(fault)
  field.classList.add('wrong')
  control.setAttribute('aria-invalid', 'true')
  const described = control.getAttribute('aria-describedby')
  control.setAttribute('aria-describedby', described ? `${described} ${fault.id}` : fault.id)
}

function readFault(html: string): Element | null {
  const read = document.createElement('template')
  read.innerHTML = html
  return read.content.firstElementChild
}

/** Removes errors that are fixed, and updates those whose text has changed. */
function renewFaults(faults: Map<string, string>): void {
  for (const fault of document.querySelectorAll<HTMLElement>('.field > .fault[id$="-fault"]')) {
    const name = fault.id.slice(0, -'-fault'.length)
    const control = document.getElementById(name)
    const next = readFault(faults.get(name) ?? '')
    if (next) {
      put(fault, next.innerHTML)
      continue
    }
    fault.closest('.field')?.classList.remove('wrong')
    control?.removeAttribute('aria-invalid')
    const others =
      control
        ?.getAttribute('aria-describedby')
        ?.split(' ')
        .filter((id) => id !== fault.id) ?? []
    if (others.length > 0) control?.setAttribute('aria-describedby', others.join(' '))
    else control?.removeAttribute('aria-describedby')
    const part = fault.closest('.part')
    fault.remove()
    if (!part?.querySelector('.fault')) part?.classList.remove('wrong')
  }
}

/** Skips unchanged parts, so that nothing is repeated by screen readers. What is open stays open. */
function put(element: Element | null, html: string): void {
  const next = document.createElement('template')
  next.innerHTML = html
  for (const { id } of element?.querySelectorAll('details[id][open]') ?? [])
    next.content.getElementById(id)?.setAttribute('open', '')
  if (element && element.innerHTML !== next.innerHTML) element.replaceChildren(next.content)
}

/** Loads the next preview behind the current one to avoid flicker and history entries. */
function reload(screen: HTMLElement, src: string): void {
  const [seen, ...outdated] = screen.querySelectorAll('iframe')
  for (const frame of outdated) frame.remove()
  const next = document.createElement('iframe')
  next.title = screen.dataset.mailFrame ?? ''
  next.setAttribute('sandbox', SANDBOX)
  next.loading = 'lazy'
  next.addEventListener('load', () => seen?.remove(), { once: true })
  next.src = inScheme(src, screen)
  screen.append(next)
}

/** Submits the form and takes its section from the returned page. False if the page was left. */
async function changePart(form: HTMLFormElement, part: HTMLElement, button: HTMLButtonElement): Promise<boolean> {
  const data = new FormData(form, button)
  const buttons = new Set([button, ...part.querySelectorAll('button')])
  for (const one of buttons) one.disabled = true
  const busy = part.querySelector<HTMLElement>('[data-busy]')
  busy?.removeAttribute('hidden')
  const unfollow = busy ? followProgress(busy) : () => {}
  const page = await fetchPage(form.action, data).finally(unfollow)
  const next = page?.getElementById(part.id)
  // errors elsewhere need the whole page
  const isWrong = [...(page?.querySelectorAll('.notice.error') ?? [])].some((notice) => !next?.contains(notice))
  if (!next || isWrong) {
    for (const one of buttons) one.disabled = false
    sendWhole(form, button)
    return false
  }
  button.disabled = false
  part.replaceWith(next)
  if (button.value.startsWith('fix')) takeTexts(page)
  // its choice of a language
  if (part.id === 'languages') put(document.getElementById(SAMPLE), page?.getElementById(SAMPLE)?.innerHTML ?? '')
  if (button.dataset.for !== undefined) {
    // its button is elsewhere on the page
    next.querySelector('summary')?.focus({ preventScroll: true })
    next.scrollIntoView({ block: 'start' })
    return true
  }
  const added = next.querySelector<HTMLElement>(
    '.part[open] .part-fields :is(input:not([type=hidden]):not([type=radio]), select), [autofocus]',
  )
  const same = [...next.querySelectorAll('button')].find(({ value }) => value === button.value)
  const first = next.querySelector<HTMLElement>('input:not([type=hidden], [type=radio]), select, button, summary')
  ;(added ?? same ?? first)?.focus({ preventScroll: true })
  // the result is below its button and may be out of view
  next.querySelector('[role=status]')?.scrollIntoView({ block: 'nearest' })
  return true
}

const SAMPLE = 'preview-sample'

/** A fix changes the email. */
function takeTexts(page: Document | null): void {
  for (const fixed of page?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('#mail :is(input, textarea)') ??
    []) {
    const field = document.getElementById(fixed.id)
    const isText = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement
    if (isText && field.value !== fixed.value) field.value = fixed.value
  }
}

const PROGRESS_MS = 400

function followProgress(busy: HTMLElement): () => void {
  const [url, bar, hint] = [busy.dataset.progress, busy.querySelector('progress'), busy.querySelector('.hint')]
  const refresh = async (): Promise<void> => {
    const answer = await fetch(url ?? '').catch(() => null)
    const progress = answer?.ok ? ((await answer.json()) as { done: number; of: number } | null) : null
    if (!progress || !bar || !hint) return
    Object.assign(bar, { max: progress.of, value: progress.done })
    hint.textContent = `${formatCount(progress.done)} of ${formatCount(progress.of)}`
  }
  const timer = url === undefined ? undefined : setInterval(() => void refresh(), PROGRESS_MS)
  return () => clearInterval(timer)
}

async function fetchPage(url: string, data: FormData): Promise<Document | null> {
  try {
    const answer = await post(url, data)
    return new DOMParser().parseFromString(await answer.text(), 'text/html')
  } catch {
    return null
  }
}

/** Falls back to a normal submit. */
function sendWhole(form: HTMLFormElement, { name, value }: HTMLButtonElement): void {
  const hidden = document.createElement('input')
  Object.assign(hidden, { type: 'hidden', name, value })
  form.append(hidden)
  leaving.abort()
  form.submit()
}
