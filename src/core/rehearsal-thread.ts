/**
 * The thread in which a rehearsal reads a million events: with a read-only connection of its own, so that neither
 * requests nor writes wait for it (promises 4). Answers one request.
 */
import { openForReading } from '../store/database.ts'
import { createRehearsalReads } from '../store/rehearsal-reads.ts'
import { rehearse, type Rehearsal, type RehearsalInput } from './rehearsal-run.ts'
import { stepBack } from './step-back.ts'

declare const self: Worker

export type ToRehearsal = { folder: string; input: RehearsalInput }
export type FromRehearsal = { rehearsal: Rehearsal | null } | { failure: string }

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
