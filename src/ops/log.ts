import { createOutput, type Output } from './output.ts'

const FLUSH_MS = 100
const FLUSH_CHARACTERS = 64 * 1024

const STDOUT = 1

type Level = 'info' | 'warn' | 'error'
export type LogFields = Record<string, string | number | boolean | null>
export type Log = {
  write(level: Level, message: string, fields?: LogFields): void
  /** The line of a request: `key` is an id of ours, `route` and `method` are among those we know. */
  request(line: RequestLine): void
  flush(): void
  /** Before an exit: resolves when all was written, or nobody reads. */
  end(): Promise<void>
  /** For who exits at once: see Output. */
  endNow(): void
}

export type RequestLine = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  keyId: string | null
  /** of who is signed in; lines of others do not have it */
  memberId?: string
}

/**
 * JSON lines on standard output: one per request or job, never a key, secret, signature, cookie, email or property
 * value. Lines are gathered for a tenth of a second, because a system call for each would cost a request
 * as much as its parsing.
 */
export function createLog(
  now: () => number,
  out: Output = createOutput(STDOUT, (lines) => droppedLine(now(), lines)),
): Log {
  const beginningOf = createBeginning()
  let lines = ''
  let timer: ReturnType<typeof setTimeout> | null = null
  const take = (): string => {
    if (timer) clearTimeout(timer)
    timer = null
    const text = lines
    lines = ''
    return text
  }
  const flush = (): void => {
    const text = take()
    if (text !== '') out.write(text)
  }
  const add = (line: string): void => {
    lines += line
    if (lines.length > FLUSH_CHARACTERS) flush()
    else timer ??= setTimeout(flush, FLUSH_MS)
  }
  return {
    flush,
    end: () => {
      flush()
      return out.end()
    },
    endNow: () => out.endNow(take()),
    write(level, message, fields = {}) {
      add(lineOf(now(), level, message, fields))
    },
    request(line) {
      const member = line.memberId === undefined ? '' : `,"memberId":"${line.memberId}"`
      add(`${beginningOf(now(), line)}${line.requestId}","ms":${line.ms}${member}}\n`)
    },
  }
}

const lineOf = (at: number, level: Level, message: string, fields: LogFields): string =>
  `${JSON.stringify({ time: isoTime(at), level, message, ...fields })}\n`

const droppedLine = (at: number, lines: number): string =>
  lineOf(at, 'warn', 'lines were dropped here, because nobody read them', { lines })

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
