/**
 * The browser script: tells the service who is signed in and which paths they open. All its state is
 * in the variables below: no cookie, no storage. Nothing that fails here may harm the page.
 */

/**
 * `proof` is the same in every request. `hold`: 0, or what keeps requests back: 1 until the next try, milliseconds until
 * the time that the service named, infinity once it refused. A flush is kept back by more than 1.
 */
type Person = { proof: { v: 1; site: string; email: string; signature: string }; hold: number }

/** `age` is when it happened on the page's own clock; each request turns it into the milliseconds since then. */
type Item = { type: 'page' | 'here' | 'leave' | 'track'; path: string; age: number; name?: string }

/**
 * The id stays the same however often the report is sent, so that the service stores it once. Before its dot is the page
 * load, after it the number of the report, which gives the order when one request overtakes another.
 */
type Batch = { person: Person; delayMs: number; report: Person['proof'] & { id: string; events: Item[] } }

const PATH_CHARACTERS = 1024
/** The longest paths and names make 24 KB of this; 30 KB is the limit. */
const BATCH_ITEMS = 20
const WAITING_ITEMS = 50
/** A path that is replaced within this time was a redirect: React Router's `<Navigate replace>` takes 20 to 83 ms. */
const REDIRECT_MS = 100
/** Five tries: after 1, 3, 9 and 27 seconds, each up to doubled by chance, so that browsers do not all come back at once. */
const DELAY_MS = 333
const LAST_DELAY_MS = 8e4
/** The service takes no greater age; a laptop may have slept for days. */
const DAY_MS = 864e5

const script = document.currentScript
const { v: loaded, q: queue = [] }: Partial<Pick<Service, 'q' | 'v'>> = window.service || {}
/** Each warning comes once. */
const warned = new Set()
/** Begins the id of every report, so that the service can tell one tab of a person from another. */
const pageLoad = (Math.random() + '').slice(2) + '.'
let packed = 0
let site: string
let address: URL
let isOpen: boolean
let person: Person | undefined
let isVisible: boolean
/** Nothing is sent before. */
let wasVisible: boolean | undefined
/** The page that the service was told of last, and the same for as long as the service knows that the person is on it. */
let lastPath: string | undefined
let herePath: string | undefined
/** The path that is about to be reported, and since when it is there. */
let heldPath = ''
let heldSince: number
/** Of nobody yet, or of the person who is signed in: the latest 50, also while nothing may be sent for them. */
let waiting: Item[] = []
/** Those that are to be sent, or sent again; what is underway is not among them. */
let batches: Batch[] = []

const warn = (text: unknown): void => {
  if (warned.size < warned.add(text).size) console.warn('service: ' + text)
}

const readPath = (): string => location.pathname.slice(0, PATH_CHARACTERS)

const add = (type: Item['type'], path: string, name?: string, age = performance.now()): void => {
  waiting = [...waiting.slice(1 - WAITING_ITEMS), { type, path, age, name }]
}

/** Reports a page view, or that the person is back on the page of the last one. */
const look = (path = readPath()): void => {
  if (isOpen && person && isVisible && path != herePath)
    add(path == lastPath ? 'here' : 'page', (lastPath = herePath = path), undefined, heldSince)
}

/**
 * Reports a path once it has stood for a while, or another was opened after it: one that is replaced at once is not
 * reported, and the calls of one task take effect together.
 */
const lookSoon = (isReplaced?: boolean): void => {
  const path = readPath()
  if (heldPath != path) {
    if (heldPath && !isReplaced) look(heldPath)
    heldPath = path
    const since = (heldSince = performance.now())
    setTimeout(() => {
      if (since == heldSince) {
        heldPath = ''
        look()
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

/** `flush`: 1 sends before the next try is due, and begins the tries anew: who looks away, or was offline, loses nothing. */
const send = (flush = 0): void => {
  try {
    // a frame in a page of the same site that has the script itself
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
  // another one once consent was withdrawn, so that what comes back then is dropped
  const queue = batches
  let status!: number
  let waitMs = 1
  let reason: unknown = 'no answer'
  try {
    // a text, for which the browser asks no permission; and no referrer, which a page's own policy may let hold the query
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
    // also a limit, though what waits for it is sent again
    warn(reason)
    if (status != 429) return void (person.hold = Infinity)
  }
  // what never left the machine is kept until it is online again
  if (batch.delayMs < LAST_DELAY_MS || !navigator.onLine) {
    queue.push(batch)
    if (person.hold < waitMs) {
      person.hold = waitMs
      setTimeout(
        () => {
          // unless a stricter one came meanwhile
          if (person.hold == waitMs) person.hold = 0
          send()
        },
        waitMs + batch.delayMs * (1 + Math.random()),
      )
    }
  } else warn(reason)
}

/** Reports what is held, and that the person is here no more. */
const leave = (): void => {
  look()
  if (herePath) add('leave', herePath)
  herePath = ''
}

const forget = (): void => {
  person = undefined
  herePath = lastPath = ''
  waiting = []
}

/** What waits goes out under the person it belongs to. */
const reset = (): void => {
  leave()
  pack()
  forget()
}

const isText = (value: unknown, shape: RegExp): value is string => typeof value == 'string' && shape.test(value)

/** A call of the page, as its arguments: answers nothing and never throws, whatever they are. */
const call = (given: Iterable<unknown>): void => {
  try {
    const [name, value] = given
    if (name === 'identify') {
      const { email, signature } = Object(value)
      if (isText(email, /\S/) && isText(signature, /^[\da-f]{64}$/)) {
        // it is of one email, however that is written
        if (person?.proof.signature != signature) {
          if (person) reset()
          person = { proof: { v: 1, site, email, signature }, hold: 0 }
        }
      } else warn('bad email or signature')
    } else if (name === 'track') {
      if (isText(value, /^[\w.:-]{1,64}$/)) add(name, readPath(), value)
      else warn('bad action name')
    } else if (name === 'consent') {
      isOpen = value === true
      if (!isOpen) {
        forget()
        batches = []
      }
    } else if (name === 'reset') reset()
    else warn('bad call')
    lookSoon()
  } catch {} // an argument, or a console, that throws
}

/** The page is shown, hidden, left or online again. */
const follow = (event?: string): void => {
  const isAway = document.hidden || event == 'pagehide'
  if (isAway) leave()
  isVisible = !isAway
  wasVisible ||= isVisible
  if (isAway || event == 'online') send(1)
  heldPath = ''
  lookSoon()
}

if (!script) warn('remove type="module"')
// not an image named currentScript, which must not say where the person's email goes; nor a saved page, srcdoc or blob:
// oxlint-disable-next-line prefer-string-starts-ends-with -- shorter in the built script
else if (script instanceof HTMLScriptElement && /^http/.test(location.protocol)) {
  site = script.dataset.site || ''
  if (loaded == null) {
    // beside the script, so that a proxy may put both under any path
    address = new URL('c', script.src)
    // an attribute that is there, however it is written, was meant to close
    isOpen = !('consent' in script.dataset || (script.dataset.gpc == 'respect' && navigator.globalPrivacyControl))
    ;['visibilitychange', 'pagehide', 'pageshow', 'online'].forEach((name) =>
      addEventListener(name, () => follow(name)),
    )
    if (window.navigation)
      navigation.addEventListener('currententrychange', ({ navigationType }) => lookSoon(navigationType == 'replace'))
    else {
      addEventListener('popstate', () => lookSoon())
      ;(['pushState', 'replaceState'] as const).forEach((name) => {
        const original = history[name]
        history[name] = function (...given) {
          original.apply(this, given)
          lookSoon(name == 'replaceState')
        }
      })
    }
    // whoever still holds the stub, or its queue, calls the real thing from now on
    queue.push = (...calls) => calls.forEach(call)
    window.service = (...given) => call(given)
    service.q = queue
    service.v = site
    follow()
    queue.splice(0).forEach(call)
  } else if (loaded != site) warn('already loaded for ' + loaded)
}
