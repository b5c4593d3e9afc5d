/// <reference lib="dom" />

/** Delay of the preview after typing. */
const TYPED_MS = 150
/** Longer, because the check reads many events. */
const CHECK_MS = 1_000

type Shown = {
  fragments: Record<string, string>
  /** everything except the text is HTML */
  mail: { from: string; subject: string; text: string; src: string } | null
}
/** `faults`: errors by field. */
type Checked = { fragments: Record<string, string>; faults: Record<string, string> }

const form = document.querySelector<HTMLFormElement>('#editor')
if (form) followEditor(form)

/** Updates the preview while typing, and lets buttons update part of the page. */
function followEditor(form: HTMLFormElement): void {
  const preview = form.querySelector<HTMLElement>('[data-preview]')
  let [timer, checkTimer]: (ReturnType<typeof setTimeout> | undefined)[] = []
  let [asked, checked] = [0, 0]
  const url = preview?.dataset.preview ?? ''

  const refresh = async (): Promise<void> => {
    const mine = ++asked
    const shown = await ask<Shown>(url, new FormData(form))
    // a newer request is under way
    if (shown && mine === asked) show(shown)
  }
  const check = async (): Promise<void> => {
    const mine = ++checked
    const data = new FormData(form)
    data.set('check', '1')
    const found = await ask<Checked>(url, data)
    if (!found || mine !== checked) return
    putAll(found.fragments)
    removeFaults(new Map(Object.entries(found.faults)))
  }
  const refreshSoon = (): void => {
    clearTimeout(timer)
    clearTimeout(checkTimer)
    timer = setTimeout(() => void refresh(), TYPED_MS)
    checkTimer = setTimeout(() => void check(), CHECK_MS)
  }
  document.getElementById('go-live')?.addEventListener('beforetoggle', () => void check())
  // the browser restores typed values, but the page shows the stored ones
  addEventListener('pageshow', (event) => {
    const isOld = event instanceof PageTransitionEvent && event.persisted
    if (preview && (isOld || hasChanged(form))) void check()
  })
  form.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLElement && !target.closest('aside')) askBeforeLeaving()
    if (preview && !(target instanceof Element && target.closest('.mail'))) refreshSoon()
  })
  form.addEventListener('submit', (event) => {
    const button = event.submitter
    if (!(button instanceof HTMLButtonElement)) return
    if (button.value === 'preview') {
      event.preventDefault()
      return void refresh()
    }
    const part = button.closest<HTMLElement>('[data-part]')
    if (!part) return leaving.abort()
    event.preventDefault()
    void changePart(form, part, button).then((isDone) => (isDone ? refresh() : undefined))
  })
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

/** Asks before unsaved input is lost. */
function askBeforeLeaving(): void {
  addEventListener('beforeunload', preventLeaving, { signal: leaving.signal })
}
const preventLeaving = (event: Event): void => event.preventDefault()

const post = (url: string, data: FormData): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams([...data].map(([name, value]) => [name, String(value)])) })

/** null on an unexpected answer: the page stays unchanged. */
async function ask<Answer>(url: string, data: FormData): Promise<Answer | null> {
  try {
    const answer = await post(url, data)
    const isJson = answer.ok && answer.headers.get('content-type')?.startsWith('application/json')
    return isJson ? ((await answer.json()) as Answer) : null
  } catch {
    return null
  }
}

function putAll(fragments: Record<string, string>): void {
  for (const [id, html] of Object.entries(fragments)) put(document.getElementById(id), html)
}

function show({ fragments, mail }: Shown): void {
  putAll(fragments)
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

/** Removes fixed errors. New errors appear on submit. */
function removeFaults(faults: Map<string, string>): void {
  for (const fault of document.querySelectorAll<HTMLElement>('.message-fields .fault[id$="-fault"]')) {
    const name = fault.id.slice(0, -'-fault'.length)
    const control = document.getElementById(name)
    if (faults.has(name)) continue
    fault.closest('.field')?.classList.remove('wrong')
    control?.removeAttribute('aria-invalid')
    const others =
      control
        ?.getAttribute('aria-describedby')
        ?.split(' ')
        .filter((id) => id !== fault.id) ?? []
    if (others.length > 0) control?.setAttribute('aria-describedby', others.join(' '))
    else control?.removeAttribute('aria-describedby')
    fault.remove()
  }
}

/** Skips unchanged parts, so that nothing is repeated by screen readers or closed. */
function put(element: Element | null, html: string): void {
  const next = document.createElement('template')
  next.innerHTML = html
  if (element && element.innerHTML !== next.innerHTML) element.replaceChildren(next.content)
}

/** Loads the next preview behind the current one to avoid flicker and history entries. */
function reload(screen: HTMLElement, src: string): void {
  const [seen, ...outdated] = screen.querySelectorAll('iframe')
  for (const frame of outdated) frame.remove()
  const next = document.createElement('iframe')
  next.title = screen.dataset.mailFrame ?? ''
  next.setAttribute('sandbox', 'allow-popups allow-popups-to-escape-sandbox')
  next.loading = 'lazy'
  next.addEventListener('load', () => seen?.remove(), { once: true })
  next.src = src
  screen.append(next)
}

/** Submits the form and takes its section from the returned page. False if the page was left. */
async function changePart(form: HTMLFormElement, part: HTMLElement, button: HTMLButtonElement): Promise<boolean> {
  const data = new FormData(form, button)
  for (const one of part.querySelectorAll('button')) one.disabled = true
  const busy = part.querySelector<HTMLElement>('[data-busy]')
  busy?.removeAttribute('hidden')
  const unfollow = busy ? followProgress(busy) : () => {}
  const page = await fetchPage(form.action, data).finally(unfollow)
  const next = page?.getElementById(part.id)
  // errors elsewhere need the whole page
  const isWrong = [...(page?.querySelectorAll('.notice.error') ?? [])].some((notice) => !next?.contains(notice))
  if (!next || isWrong) {
    for (const one of part.querySelectorAll('button')) one.disabled = false
    sendWhole(form, button)
    return false
  }
  part.replaceWith(next)
  const fields = next.querySelectorAll<HTMLElement>('input:not([type=hidden], [type=radio]), select, button')
  const added = button.value.startsWith('add')
    ? next.querySelector<HTMLElement>('.rule:last-of-type :is(input:not([type=hidden]), select)')
    : null
  const same = [...next.querySelectorAll('button')].find(({ value }) => value === button.value)
  ;(added ?? same ?? fields[0])?.focus({ preventScroll: true })
  // the result is below its button and may be out of view
  next.querySelector('[role=status]')?.scrollIntoView({ block: 'nearest' })
  return true
}

const PROGRESS_MS = 400

function followProgress(busy: HTMLElement): () => void {
  const [url, bar, hint] = [busy.dataset.progress, busy.querySelector('progress'), busy.querySelector('.hint')]
  const refresh = async (): Promise<void> => {
    const answer = await fetch(url ?? '').catch(() => null)
    const progress = answer?.ok ? ((await answer.json()) as { done: number; of: number } | null) : null
    if (!progress || !bar || !hint) return
    Object.assign(bar, { max: progress.of, value: progress.done })
    hint.textContent = `${progress.done.toLocaleString('en')} of ${progress.of.toLocaleString('en')}`
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
