import { write } from 'node:fs'

/** Some 20,000 lines of requests, and as many again on their way; beyond that, lines are dropped and counted. */
const WAITING_CHARACTERS = 4 * 1024 * 1024
/** After a pipe that is full and does not wait (EAGAIN). */
const AGAIN_MS = 20
/** At the end, because perhaps nobody reads: the whole stop has ten seconds. */
const END_MS = 300
/** Mostly enough for a write beside the program; a disk that hangs is not waited for. */
const END_NOW_MS = 100

export type Output = {
  /** Takes whole lines. */
  write(lines: string): void
  /** Resolves when all was written, or a little later, because perhaps nobody reads. */
  end(): Promise<void>
  /** The same at once with the last lines, for who is about to exit: nothing else happens meanwhile. */
  endNow(lines: string): void
}

/**
 * Lines to a file descriptor, written beside the program: where the reader of a pipe stands still, a write takes as long
 * as it stands, and with it would every request. `dropped` makes the line that says how many were dropped.
 */
export function createOutput(fd: number, dropped: (lines: number) => string, mostWaiting = WAITING_CHARACTERS): Output {
  let waiting = ''
  let droppedLines = 0
  /** What is being written; bytes only where it is the rest of what was written in part, because they are garbage of ours. */
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
      // a reader that is gone must not stop the service
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
      // what is on its way goes first, or is cut here: then these begin a line of their own
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
