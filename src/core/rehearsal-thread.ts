/**
 * The thread in which a rehearsal reads a million events: with a read-only connection of its own, so that neither
 * requests nor writes wait for it (promises 4). Answers one request.
 */
import { constants, setPriority } from 'node:os'
import { openForReading } from '../store/database.ts'
import { createRehearsalReads } from '../store/rehearsal-reads.ts'
import { rehearse, type Rehearsal, type RehearsalInput } from './rehearsal-run.ts'

declare const self: Worker

export type ToRehearsal = { folder: string; input: RehearsalInput }
export type FromRehearsal = { rehearsal: Rehearsal | null } | { failure: string }

/**
 * Runs when nobody else wants the processor, so that events are taken as fast as without it. Linux takes 0 for the calling
 * thread; elsewhere it is the whole process, which must not step back.
 */
function stepBack(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_LOW)
  } catch {
    // a sandbox may forbid it: it is only slower for the others then
  }
}

self.onmessage = ({ data }: MessageEvent<ToRehearsal>) => {
  const answer = (message: FromRehearsal): void => self.postMessage(message)
  stepBack()
  try {
    const db = openForReading(data.folder)
    try {
      answer({ rehearsal: rehearse(createRehearsalReads(db), data.input) })
    } finally {
      db.close()
    }
  } catch (error) {
    answer({ failure: error instanceof Error ? error.message : String(error) })
  }
}
