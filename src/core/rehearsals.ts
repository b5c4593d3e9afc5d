import { join } from 'node:path'
import { type FromRehearsal, REHEARSAL_WORD, type ToRehearsal } from './rehearsal-process.ts'
import type { Rehearsal, RehearsalInput, RehearsalLine } from './rehearsal-run.ts'

export type { Rehearsal, RehearsalInput, RehearsalLine }
export type Rehearse = (input: RehearsalInput) => Promise<Rehearsal | null>

/** On Linux by a name that is still this very program after its file was replaced by a newer one. */
const PROGRAM = process.platform === 'linux' ? '/proc/self/exe' : process.execPath
const SCRIPT = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, '../main.ts')]
/** The service makes the engine believe in little memory (operations/heap.ts); a million events need what there is. */
const ENVIRONMENT = { ...process.env, BUN_JSC_forceRAMSize: undefined }

/**
 * Rehearses a message against the stored events of the last days, sends nothing and changes nothing (messages.md). One at
 * a time: each reads much, and fills a core while it does.
 * @returns who, when, and why not; null where the trigger cannot be rehearsed
 * @throws Error when the events cannot be read
 */
export function createRehearsals(folder: string): Rehearse {
  let last: Promise<unknown> = Promise.resolve()
  return (input) => {
    const next = last.then(() => runInProcess({ folder, input }))
    last = next.catch(() => {})
    return next
  }
}

async function runInProcess(request: ToRehearsal): Promise<Rehearsal | null> {
  const child = Bun.spawn([PROGRAM, ...SCRIPT, REHEARSAL_WORD], {
    stdin: Buffer.from(JSON.stringify(request)),
    stderr: 'inherit',
    env: ENVIRONMENT,
  })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error('the process that rehearses ended without an answer')
  const answer = JSON.parse(text) as FromRehearsal
  if ('failure' in answer) throw new Error(answer.failure)
  return answer.rehearsal
}
