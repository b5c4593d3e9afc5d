import type { Job, Outcome } from './engine.ts'
import { StoreError } from './errors.ts'
import type { FromWriter, ToWriter } from './writer-thread.ts'
import type { Channel } from './writer.ts'

/** Starts the writing thread and the checkpointing one. @throws StoreError when the folder cannot be opened */
export async function startThreads(folder: string): Promise<Channel> {
  const writer = createThread('./writer-thread.ts')
  const send = (message: ToWriter): void => writer.postMessage(message)
  const foreignWrite: (() => void)[] = []
  const broken: ((reason: string) => void)[] = []
  let answer: ((outcomes: Outcome[]) => void) | null = null
  let closed: (() => void) | null = null

  await new Promise<void>((resolve, reject) => {
    writer.onmessage = ({ data }: MessageEvent<FromWriter>) => {
      if (typeof data === 'string') answer?.(JSON.parse(data) as Outcome[])
      else if ('opened' in data) resolve()
      else if ('failed' in data) reject(toError(data.failed))
      else if ('foreignWrite' in data) foreignWrite.forEach((listener) => listener())
      else if ('broken' in data) broken.forEach((listener) => listener(data.broken))
      else closed?.()
    }
    writer.onerror = (event) => {
      reject(new Error(event.message))
      broken.forEach((listener) => listener(event.message))
    }
    send({ open: folder })
  })
  const checkpointer = createThread('./checkpoint-thread.ts')
  checkpointer.postMessage(folder)

  return {
    commit: (jobs: Job[]) =>
      new Promise((resolve) => {
        answer = resolve
        send(JSON.stringify(jobs))
      }),
    close: async () => {
      await new Promise((resolve) => {
        checkpointer.onmessage = resolve
        checkpointer.postMessage('close')
      })
      await new Promise<void>((resolve) => {
        closed = resolve
        send({ close: true })
      })
      checkpointer.terminate()
      writer.terminate()
    },
    onForeignWrite: (listener) => void foreignWrite.push(listener),
    onBroken: (listener) => void broken.push(listener),
  }
}

/** `smol`: these threads hold little, and a small heap keeps the service under its 120 MB. */
const createThread = (file: string): Worker => new Worker(new URL(file, import.meta.url).href, { smol: true })

const toError = ({ code, message }: { code: StoreError['code'] | null; message: string }): Error =>
  code ? new StoreError(code, message) : new Error(message)
