import { createOutput, type Output } from './output.ts'

const FLUSH_MS = 100
const FLUSH_CHARACTERS = 64 * 1024

const STDOUT = 1

type Level = 'info' | 'warn' | 'error'
export type LogFields = Record<string, string | number | boolean | null>
/** `at`: ms UTC. `reason`: in one line. */
export type LoggedError = { at: number; message: string; reason: string | null }

const KEPT_ERRORS = 20
const REASON_CHARACTERS = 300

export type Log = {
  write(level: Level, message: string, fields?: LogFields): void
  request(line: RequestLine): void
  flush(): void
  /** The newest first. */
  listErrors(): LoggedError[]
  /** Resolves when written, or when the reader is gone. */
  end(): Promise<void>
  endNow(): void
}

export type RequestLine = {
  requestId: string
  method: string
  route: string
  status: number
  ms: number
  keyId: string | null
  memberId?: string
}

/**
 * JSON lines on stdout, without personal data or secrets. Written every tenth of a second: a system call per line costs
 * as much as parsing the request.
 */
export function createLog(
  now: () => number,
  out: Output = createOutput(STDOUT, (lines) => droppedLine(now(), lines)),
): Log {
  const beginningOf = createBeginning()
  const errors: LoggedError[] = []
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
    listErrors: () => errors.toReversed(),
    write(level, message, fields = {}) {
      if (level === 'error') keepError(errors, { at: now(), message, reason: fields.reason ?? null })
      add(lineOf(now(), level, message, fields))
    },
    request(line) {
      const member = line.memberId === undefined ? '' : `,"memberId":"${line.memberId}"`
      add(`${beginningOf(now(), line)}${line.requestId}","ms":${line.ms}${member}}\n`)
    },
  }
}

function keepError(errors: LoggedError[], error: { at: number; message: string; reason: LogFields[string] }): void {
  const [line] = String(error.reason ?? '').split('\n')
  errors.push({ ...error, reason: line ? line.slice(0, REASON_CHARACTERS) : null })
  if (errors.length > KEPT_ERRORS) errors.shift()
}

const lineOf = (at: number, level: Level, message: string, fields: LogFields): string =>
  `${JSON.stringify({ time: isoTime(at), level, message, ...fields })}\n`

const droppedLine = (at: number, lines: number): string =>
  lineOf(at, 'warn', 'log lines were dropped because the log reader stalled', { lines })

/** Under load many lines share it. All values are ours, so no escaping is needed. */
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
