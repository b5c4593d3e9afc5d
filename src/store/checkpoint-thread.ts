/** The thread that copies a long log into the database, so that neither requests nor commits wait for it. */
import { copyLongLog } from './checkpoints.ts'
import { openForReading } from './database.ts'

declare const self: Worker

const LOOK_EVERY_MS = 100

self.onmessage = ({ data: folder }: MessageEvent<string>) => {
  const db = openForReading(folder)
  const look = setInterval(() => copyLongLog(db), LOOK_EVERY_MS)
  self.onmessage = () => {
    clearInterval(look)
    db.close()
    self.postMessage('closed')
  }
}
