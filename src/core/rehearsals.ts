import { dirname, join } from 'node:path'
import type { Rehearsal, RehearsalInput, RehearsalLine } from './rehearsal-run.ts'
import type { FromRehearsal, ToRehearsal } from './rehearsal-thread.ts'

export type { Rehearsal, RehearsalInput, RehearsalLine }
export type Rehearse = (input: RehearsalInput) => Promise<Rehearsal | null>

/** Beside this file in a checkout; in the executable where the build puts its further entry points. */
const threadPath = (): string =>
  Bun.isStandaloneExecutable
    ? join(dirname(Bun.main), 'core', 'rehearsal-thread.ts')
    : join(import.meta.dir, 'rehearsal-thread.ts')

/**
 * Rehearses a message against the stored events of the last days, sends nothing and changes nothing (messages.md). One at
 * a time: each reads much, and fills a core while it does.
 * @returns who, when, and why not; null where the trigger cannot be rehearsed
 * @throws Error when the events cannot be read
 */
export function createRehearsals(folder: string): Rehearse {
  let last: Promise<unknown> = Promise.resolve()
  return (input) => {
    const next = last.then(() => runInThread({ folder, input }))
    last = next.catch(() => {})
    return next
  }
}

async function runInThread(request: ToRehearsal): Promise<Rehearsal | null> {
  const worker = new Worker(threadPath())
  try {
    const answer = await new Promise<FromRehearsal>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<FromRehearsal>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(request)
    })
    if ('failure' in answer) throw new Error(answer.failure)
    return answer.rehearsal
  } finally {
    worker.terminate()
  }
}
