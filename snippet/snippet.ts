/**
 * The browser's side (spec 2.6, 3.1, 4.5): tells the service who is signed in and which paths they open. All it knows
 * is in the variables below: no cookie, no storage. Nothing that fails here may harm the page.
 */

/** `hold`: 1 until the next try is due, 2 until when the service said, 3 once it refused; a flush waits from 2 on. */
type Person = { email: string; signature: string; hold: number }

/** `age` holds when it happened, on the page's own clock; each sending turns it into the milliseconds since then. */
type Item = { type: 'page' | 'leave' | 'track'; name?: string; path: string; age: number }

/**
 * The id stays the same however often it is sent, so that the service keeps it once; before its dot is the page load, after
 * it the number of the batch, which says what came first when one overtakes another.
 */
type Batch = { person: Person; id: string; events: Item[]; tries: number }

const PATH_CHARACTERS = 1024
/** The longest paths and names make 24 KB of this; 30 KB is the most. */
const BATCH_ITEMS = 20
const WAITING_ITEMS = 50
const TRIES = 5
/** 3, 9, 27 and 81 times this are waited, each up to doubled by chance, so that browsers do not all come back at once. */
const DELAY_MS = 333
/** The service takes no greater age; a laptop may have slept for days. */
const DAY_MS = 864e5

const running = document.currentScript
/** An image named currentScript hides the real one, and must not say where the person's email goes. */
const script = running instanceof HTMLScriptElement ? running : undefined
const { site, consent, gpc } = script?.dataset ?? {}
/** Beside the script, so that a proxy may put both under any path. */
const address = script ? new URL('c', script.src) : ''

// an attribute that is there, however it is written, was meant to close
let isOpen = consent == null && !(gpc == 'respect' && navigator.globalPrivacyControl)
let person: Person | undefined
/** Undefined until the page is visible for the first time; nothing is sent before. */
let isVisible: boolean | undefined
/** Where the person is, as far as the service was told. */
let reportedPath: string | undefined
/** Nobody's, or those of the person who is signed in: the latest 50, also while nothing may be sent for them. */
let waiting: Item[] = []
/** Those that are to be sent, or sent again; what is underway is not among them. */
let batches: Batch[] = []
let lookTimer = 0
const warned = new Set()
/** Begins the id of every batch, so that the service can tell one tab of a person from another. */
const pageLoad = crypto.getRandomValues(new Uint32Array(3)).join()
let packed = 0

function warn(text: unknown): void {
  if (warned.size < warned.add(text).size) console.warn('service: ' + text)
}

const keyOf = ({ email, signature }: Person): string => signature + email.trim().toLowerCase()

const readPath = (): string => location.pathname.slice(0, PATH_CHARACTERS)

function add(type: Item['type'], path: string, name?: string): void {
  waiting = [...waiting.slice(1 - WAITING_ITEMS), { type, name, path, age: performance.now() }]
}

/** Reports the page, if it is another than the one reported last. */
function look(): void {
  const path = readPath()
  if (isOpen && person && isVisible && path != reportedPath) add('page', (reportedPath = path))
}

/** Waits for the end of the task: a chain of redirects is one page, and the calls of a queue take effect together. */
function lookSoon(): void {
  lookTimer ||= setTimeout(() => {
    lookTimer = 0
    look()
    send()
  })
}

/** A frame in a page of the same site that has the snippet itself. */
function isInside(): boolean {
  try {
    return parent != window && typeof parent.service == 'function'
  } catch {
    return false // another site's
  }
}

function pack(): void {
  while (isOpen && person && waiting[0])
    batches.push({
      person,
      id: pageLoad + '.' + ++packed,
      events: waiting.splice(0, BATCH_ITEMS),
      tries: 0,
    })
}

/** A flush comes earlier than a try is due, and the tries begin anew: who looks away, or was offline, has lost nothing. */
function send(flush: 0 | 1 = 0): void {
  if (isVisible == null || isInside()) return
  if (person && person.hold <= flush) pack()
  for (const batch of batches.splice(0))
    if (batch.person.hold > flush) batches.push(batch)
    else {
      flush ? (batch.tries = 0) : batch.tries++
      void deliver(batch)
    }
}

const encode = ({ person: { email, signature }, id, events }: Batch): string =>
  JSON.stringify({ v: 1, site, email, signature, id, events }, (key, value) =>
    key == 'age' ? Math.min(DAY_MS, performance.now() - value) | 0 : value,
  )

async function deliver(batch: Batch): Promise<void> {
  // another one once consent was withdrawn, so that what comes back then is dropped
  const queue = batches
  let response: Response | undefined
  let reason: unknown
  try {
    // a text, for which the browser asks no permission; and no referrer, which a page's own policy may let hold the query
    response = await fetch(address, {
      method: 'POST',
      body: encode(batch),
      keepalive: true,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    })
    if (response.ok) return
    reason = (await response.json()).message
  } catch {} // no network, or an answer that is not the service's
  const status = Number(response?.status)
  // a limit is said at once, though what waits for it is sent again
  if (status < 500 && status != 429) batch.person.hold = 3
  else {
    if (status == 429) warn(reason || status)
    // what never left the machine is kept until it is online again
    if (batch.tries < TRIES || !(status || navigator.onLine))
      return (queue.push(batch), hold(batch, Number(response?.headers.get('Retry-After')) || 0))
  }
  warn(reason || status || 'no answer')
}

function hold({ person, tries }: Batch, retryAfterS: number): void {
  const hold = retryAfterS ? 2 : 1
  const delayMs = retryAfterS * 1000 + DELAY_MS * 3 ** tries * (1 + Math.random())
  if (person.hold < hold) {
    person.hold = hold
    setTimeout(() => {
      // unless a stricter one came meanwhile
      if (person.hold == hold) person.hold = 0
      send()
    }, delayMs)
  }
}

const isText = (value: unknown, shape: RegExp): value is string => typeof value == 'string' && shape.test(value)

function identify(given: unknown): void {
  const { email, signature } = Object(given)
  if (!isText(email, /\S/) || !isText(signature, /^[\da-f]{64}$/))
    return warn('identify needs email, lowercase hex signature')
  const next = { email, signature, hold: 0 }
  if (person) {
    if (keyOf(person) == keyOf(next)) return
    reset()
  }
  person = next
}

/** Until the page is reported again, the person is here no more. */
function leave(): void {
  look()
  if (reportedPath) add('leave', reportedPath)
  reportedPath = undefined
}

/** What waits goes out under the person it belongs to. */
function reset(): void {
  leave()
  pack()
  forget()
}

function forget(): void {
  person = reportedPath = undefined
  waiting = []
}

function track(name: unknown): void {
  if (!isText(name, /^[\w.:-]{1,64}$/)) return warn('track needs 1 to 64 letters, digits, _ . : -')
  add('track', readPath(), name)
}

function answer(given: unknown): void {
  if ((isOpen = given === true)) return
  forget()
  batches = []
}

const CALLS = new Map<unknown, (given?: unknown) => void>([
  ['identify', identify],
  ['track', track],
  ['consent', answer],
  ['reset', reset],
])

/** What the page calls: answers nothing and never throws, whatever it is given. */
function callService(name: unknown, given?: unknown): void {
  try {
    const call = CALLS.get(name)
    if (call) call(given)
    else warn('unknown call')
    lookSoon()
  } catch {
    // an argument, or a console, that throws
  }
}

/** The page is shown, hidden, left or online again. */
function follow({ type }: { type?: string }): void {
  const isAway = document.hidden || type == 'pagehide'
  if (isAway) leave()
  isVisible = !isAway || (isVisible && false)
  if (isAway || type == 'online') send(1)
  lookSoon()
}

function followPages(): void {
  if (window.navigation) return navigation.addEventListener('currententrychange', lookSoon)
  for (const name of ['pushState', 'replaceState'] as const) {
    const original = history[name]
    history[name] = function (...given) {
      original.apply(this, given)
      lookSoon()
    }
  }
  addEventListener('popstate', lookSoon)
}

/** Calls what the stub kept. Whoever still holds the stub, or its queue, calls the real thing from now on. */
function takeOver(): void {
  const queue: NonNullable<Service['q']> = window.service?.q || []
  queue.push = (...calls) => {
    for (const call of calls) callService(call?.[0], call?.[1])
  }
  window.service = callService
  service.q = queue
  service.v = 1
  queue.push(...queue.splice(0))
}

if (script && !window.service?.v) {
  for (const name of ['visibilitychange', 'pageshow', 'pagehide', 'online']) addEventListener(name, follow)
  follow({})
  followPages()
  takeOver()
}
