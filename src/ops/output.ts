import { write } from 'node:fs'

/** About 20,000 lines; more are dropped and counted. */
const WAITING_CHARACTERS = 4 * 1024 * 1024
const AGAIN_MS = 20
/** At exit; the whole stop has ten seconds. */
const END_MS = 300
/** Usually enough for one write; a hanging disk isn't waited for. */
const END_NOW_MS = 100

export type Output = {
  write(lines: string): void
  /** Resolves when written or shortly after: nobody may be reading. */
  end(): Promise<void>
  endNow(lines: string): void
}

/** Writes lines off the main thread, so that a stalled pipe stalls no request. `dropped` describes lost lines. */
export function createOutput(fd: number, dropped: (lines: number) => string, mostWaiting = WAITING_CHARACTERS): Output {
  let waiting = ''
  let droppedLines = 0
  /** Bytes only for the rest of a partial write. */
  let current: string | Uint8Array = ''
  let whenWritten = Promise.withResolvers<void>()

  const isWriting = (): boolean => current.length > 0

  const takeWaiting = (): string => {
    const text = droppedLines > 0 ? waiting + dropped(droppedLines) : waiting
    waiting = ''
    droppedLines = 0
    return text
  }
  const next = (): void => {
    current = takeWaiting()
    if (isWriting()) goOn()
    else whenWritten.resolve()
  }
  const goOn = (): void => {
    const done = (error: NodeJS.ErrnoException | null, count: number): void => {
      if (error?.code === 'EAGAIN') return void setTimeout(goOn, AGAIN_MS)
      // a closed reader must not stop the service
      current = error ? '' : restOf(current, count)
      if (isWriting()) goOn()
      else next()
    }
    if (typeof current === 'string') write(fd, current, done)
    else write(fd, current, done)
  }

  return {
    write(lines) {
      if (waiting.length > mostWaiting) {
        droppedLines += lines.split('\n').length - 1
        return
      }
      waiting += lines
      if (isWriting()) return
      whenWritten = Promise.withResolvers()
      next()
    },
    async end() {
      if (isWriting()) await Promise.race([whenWritten.promise, Bun.sleep(END_MS)])
    },
    endNow(lines) {
      // the current line may be cut, so start a new one
      const before = isWriting() ? '\n' : ''
      if (isWriting()) Bun.sleepSync(END_NOW_MS)
      write(fd, before + takeWaiting() + lines, () => {})
      Bun.sleepSync(END_NOW_MS)
    },
  }
}

const restOf = (written: string | Uint8Array, count: number): string | Uint8Array =>
  count >= Buffer.byteLength(written)
    ? ''
    : (typeof written === 'string' ? Buffer.from(written) : written).subarray(count)
