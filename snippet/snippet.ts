/**
 * Browser script: reports who is signed in and which paths they open. State lives in memory only: no cookies, no
 * storage. Errors never reach the page.
 */

/**
 * `proof` is the same in every request. `hold`: 0 = free, 1 = until the next retry, milliseconds = rate limited,
 * Infinity = refused. Only values above 1 block a flush.
 */
type Person = { proof: { v: 1; site: string; email: string; signature: string }; hold: number }

/** `age` is a timestamp on the page's clock; each request converts it to milliseconds elapsed. */
type Item = { type: 'page' | 'here' | 'leave' | 'track'; path: string; age: number; name?: string }

/**
 * The id is stable across retries, so that the service deduplicates. Format: page load, dot, report number; the number
 * restores the order.
 */
type Batch = { person: Person; delayMs: number; report: Person['proof'] & { id: string; events: Item[] } }

const PATH_CHARACTERS = 1024
/** The longest paths and names make 24 KB; the service accepts 32 KB. */
const BATCH_ITEMS = 20
const WAITING_ITEMS = 50
/** A path replaced within this time is a redirect: React Router's `<Navigate replace>` takes 20 to 83 ms. */
const REDIRECT_MS = 100
/** Retries after 1, 3, 9 and 27 seconds, each with up to 100% jitter. */
const DELAY_MS = 333
const LAST_DELAY_MS = 8e4
/** The maximum age that the service accepts; a laptop can sleep for days. */
const DAY_MS = 864e5

const script = document.currentScript
const { v: loaded, q: queue = [] }: Partial<Pick<Service, 'q' | 'v'>> = window.service || {}
const warned = new Set()
/** Prefix of every report id; identifies the tab. */
const pageLoad = (Math.random() + '').slice(2) + '.'
let packed = 0
let site: string
let address: URL
let isOpen: boolean
let person: Person | undefined
let isVisible: boolean
let wasVisible: boolean | undefined
/** The last page reported, for as long as the service considers the person on it. */
let lastPath: string | undefined
let herePath: string | undefined
/** The path about to be reported, and when it appeared. */
let pendingPath = ''
let pendingSince: number
/** The latest 50 events of the current person, stored while sending is not allowed. */
let waiting: Item[] = []
/** Reports to send or retry, without those in flight. */
let batches: Batch[] = []

const warn = (text: unknown): void => {
  if (warned.size < warned.add(text).size) console.warn('service: ' + text)
}

const readPath = (): string => location.pathname.slice(0, PATH_CHARACTERS)

const add = (type: Item['type'], path: string, name?: string, age = performance.now()): void => {
  waiting = [...waiting.slice(1 - WAITING_ITEMS), { type, path, age, name }]
}

const addView = (path = readPath()): void => {
  if (isOpen && person && isVisible && path != herePath)
    add(path == lastPath ? 'here' : 'page', (lastPath = herePath = path), undefined, pendingSince)
}

/**
 * Reports a path once it has settled or been replaced, so that redirects are skipped and calls of one task take effect
 * together.
 */
const addViewSoon = (isReplaced?: boolean): void => {
  const path = readPath()
  if (pendingPath != path) {
    if (pendingPath && !isReplaced) addView(pendingPath)
    pendingPath = path
    const since = (pendingSince = performance.now())
    setTimeout(() => {
      if (since == pendingSince) {
        pendingPath = ''
        addView()
        send()
      }
    }, REDIRECT_MS)
  }
}

const pack = (): void => {
  while (isOpen && person && waiting[0])
    batches.push({
      person,
      delayMs: DELAY_MS,
      report: { ...person.proof, id: pageLoad + ++packed, events: waiting.splice(0, BATCH_ITEMS) },
    })
}

/** `flush`: 1 sends before the next retry and resets the retries, for hidden or reconnected pages. */
const send = (flush = 0): void => {
  try {
    // a frame inside a page of the same site that runs the script itself
    if (parent != window && parent.service?.call) return
  } catch {} // the parent is another site's
  if (!wasVisible) return
  if (person && person.hold <= flush) pack()
  batches.splice(0).forEach((batch) => {
    if (batch.person.hold > flush) batches.push(batch)
    else {
      batch.delayMs = flush ? DELAY_MS : 3 * batch.delayMs
      void deliver(batch)
    }
  })
}

const deliver = async (batch: Batch): Promise<void> => {
  const { person } = batch
  // `batches` is a new array after consent is withdrawn, so that late responses retry nothing
  const queue = batches
  let status!: number
  let waitMs = 1
  let reason: unknown = 'no response'
  try {
    // text/plain needs no CORS preflight; no referrer, because it may contain the query
    const response = await fetch(address, {
      method: 'POST',
      body: JSON.stringify(batch.report, (key, value) =>
        key == 'age' ? Math.min(DAY_MS, performance.now() - value) | 0 : value,
      ),
      keepalive: true,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    })
    if (response.ok) return
    reason = status = response.status
    waitMs += (1e3 * Number(response.headers.get('Retry-After'))) | 0
    reason = (await response.json()).message || status
  } catch {} // no network, or an answer that is not the service's
  if (status < 500) {
    // also about a 429, whose report is retried
    warn(reason)
    if (status != 429) return void (person.hold = Infinity)
  }
  // requests that never left the machine are retried when online
  if (batch.delayMs < LAST_DELAY_MS || !navigator.onLine) {
    queue.push(batch)
    if (person.hold < waitMs) {
      person.hold = waitMs
      setTimeout(
        () => {
          // keep a stricter limit set in the meantime
          if (person.hold == waitMs) person.hold = 0
          send()
        },
        waitMs + batch.delayMs * (1 + Math.random()),
      )
    }
  } else warn(reason)
}

/** Sends pending reports and reports that the person left. */
const leave = (): void => {
  addView()
  if (herePath) add('leave', herePath)
  herePath = ''
}

const forget = (): void => {
  person = undefined
  herePath = lastPath = ''
  waiting = []
}

/** Sends pending reports under the person they belong to. */
const reset = (): void => {
  leave()
  pack()
  forget()
}

const isText = (value: unknown, shape: RegExp): value is string => typeof value == 'string' && shape.test(value)

/** Handles a call of the page. Never throws, whatever the arguments. */
const call = (given: Iterable<unknown>): void => {
  try {
    const [name, value] = given
    if (name === 'identify') {
      const { email, signature } = Object(value)
      if (isText(email, /\S/) && isText(signature, /^[\da-f]{64}$/)) {
        // compares signatures, which ignore the email's case
        if (person?.proof.signature != signature) {
          if (person) reset()
          person = { proof: { v: 1, site, email, signature }, hold: 0 }
        }
      } else warn('identify needs an email and a signature of 64 lowercase hex digits')
    } else if (name === 'track') {
      if (isText(value, /^[\w.:-]{1,64}$/)) add(name, readPath(), value)
      else warn('track needs a name such as export_clicked')
    } else if (name === 'consent') {
      isOpen = value === true
      if (!isOpen) {
        forget()
        batches = []
      }
    } else if (name === 'reset') reset()
    else warn('unknown call: use identify, track, consent or reset')
    addViewSoon()
  } catch {} // an argument, or a console, that throws
}

const follow = (event?: string): void => {
  const isAway = document.hidden || event == 'pagehide'
  if (isAway) leave()
  isVisible = !isAway
  wasVisible ||= isVisible
  if (isAway || event == 'online') send(1)
  pendingPath = ''
  addViewSoon()
}

if (!script) warn('remove type="module"')
// ignore an image named currentScript, which could redirect the email elsewhere, and saved pages, srcdoc and blob:
// oxlint-disable-next-line prefer-string-starts-ends-with -- shorter in the built script
else if (script instanceof HTMLScriptElement && /^http/.test(location.protocol)) {
  site = script.dataset.site || ''
  if (loaded == null) {
    // next to the script, so that a proxy can serve both under any path
    address = new URL('c', script.src)
    // any value of the attribute disables tracking
    isOpen = !('consent' in script.dataset || (script.dataset.gpc == 'respect' && navigator.globalPrivacyControl))
    ;['visibilitychange', 'pagehide', 'pageshow', 'online'].forEach((name) =>
      addEventListener(name, () => follow(name)),
    )
    if (window.navigation)
      navigation.addEventListener('currententrychange', ({ navigationType }) =>
        addViewSoon(navigationType == 'replace'),
      )
    else {
      addEventListener('popstate', () => addViewSoon())
      ;(['pushState', 'replaceState'] as const).forEach((name) => {
        const original = history[name]
        history[name] = function (...given) {
          original.apply(this, given)
          addViewSoon(name == 'replaceState')
        }
      })
    }
    // old references to the stub or its queue now reach the script
    queue.push = (...calls) => calls.forEach(call)
    window.service = (...given) => call(given)
    service.q = queue
    service.v = site
    follow()
    queue.splice(0).forEach(call)
  } else if (loaded != site) warn('second tag ignored: already loaded for ' + loaded)
}
