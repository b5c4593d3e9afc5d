import { copyLongLog } from './checkpoints.ts'
import { openForReading } from './database.ts'
import { isPassingFault } from './errors.ts'
import type { FromThread } from './writer-thread.ts'

declare const self: Worker

export type ToCheckpointer = { open: string } | { close: true }

const CHECK_EVERY_MS = 100

const post = (message: FromThread): void => self.postMessage(message)

function open(folder: string): { close: () => void } {
  const db = openForReading(folder)
  const timer = setInterval(() => {
    try {
      copyLongLog(db)
    } catch (error) {
      // a full disk may recover; until then the WAL grows
      if (!isPassingFault(error, db.filename)) post({ broken: error instanceof Error ? error.message : String(error) })
    }
  }, CHECK_EVERY_MS)
  return {
    close: () => {
      clearInterval(timer)
      db.close()
    },
  }
}

let opened: { close: () => void } | null = null

self.onmessage = ({ data }: MessageEvent<ToCheckpointer>) => {
  if ('open' in data) opened = open(data.open)
  else opened?.close()
  post({ answer: null })
}
