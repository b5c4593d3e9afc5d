import { writeSync } from 'node:fs'

const FLUSH_MS = 100
const FLUSH_CHARACTERS = 64 * 1024

export type LogFields = Record<string, string | number | boolean | null>
export type Log = {
  write(level: 'info' | 'warn' | 'error', message: string, fields?: LogFields): void
  /** The line of a request: `key` is an id of ours, `route` and `method` are among those we know. */
  request(line: RequestLine): void
  flush(): void
}

export type RequestLine = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  keyId: string | null
}

/**
 * JSON lines on standard output: one per request or job, never a key, secret, signature, cookie, email or property
 * value (promises 19). Lines are gathered for a tenth of a second, because a system call for each would cost a request
 * as much as its parsing.
 */
export function createLog(now: () => number, out: (text: string) => void = writeOut): Log {
  const beginningOf = createBeginning()
  let lines = ''
  let timer: ReturnType<typeof setTimeout> | null = null
  const flush = (): void => {
    if (timer) clearTimeout(timer)
    timer = null
    const text = lines
    lines = ''
    if (text !== '') out(text)
  }
  const add = (line: string): void => {
    lines += line
    if (lines.length > FLUSH_CHARACTERS) flush()
    else timer ??= setTimeout(flush, FLUSH_MS)
  }
  return {
    flush,
    write(level, message, fields = {}) {
      add(`${JSON.stringify({ time: isoTime(now()), level, message, ...fields })}\n`)
    },
    request(line) {
      add(`${beginningOf(now(), line)}${line.requestId}","ms":${line.ms}}\n`)
    },
  }
}

/** A reader that is slow (EAGAIN) or gone (EPIPE) must not stop the service: its lines are dropped. */
function writeOut(text: string): void {
  try {
    writeSync(1, text)
  } catch {}
}

/**
 * The line of a request up to its id; under load many have the same. Every value is our own, so there is nothing to
 * escape, and a request is spared the price of JSON.stringify.
 */
function createBeginning() {
  let last = { at: Number.NaN, method: '', route: '', status: 0, keyId: null as string | null, text: '' }
  return (at: number, { method, route, status, keyId }: RequestLine): string => {
    const isSame = at === last.at && route === last.route && status === last.status && keyId === last.keyId
    if (isSame && method === last.method) return last.text
    const key = keyId === null ? 'null' : `"${keyId}"`
    const text = `{"time":"${isoTime(at)}","level":"info","message":"request","method":"${method}","route":"${route}","status":${status},"keyId":${key},"requestId":"`
    last = { at, method, route, status, keyId, text }
    return text
  }
}

const isoTime = (at: number): string => new Date(at).toISOString()
