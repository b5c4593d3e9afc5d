import type { ToCheckpointer } from './checkpoint-thread.ts'
import { StoreError } from './errors.ts'
import type { Failure, FromThread, ToWriter } from './writer-thread.ts'
import { CHECKPOINT_THREAD, takeWorker, WRITER_THREAD } from './workers.ts'
import { type Channel, createGroupEncoder } from './writer.ts'
import type { Outcome } from '../writes.ts'

export async function startThreads(folder: string, masterKey: string | null): Promise<Channel> {
  const listeners = createListeners()
  const writer = createCaller<ToWriter>(WRITER_THREAD, listeners)
  // loads in parallel with the writer, but opens the folder after it
  const checkpointer = createCaller<ToCheckpointer>(CHECKPOINT_THREAD, listeners)
  const threads = [checkpointer, writer]
  await openThreads(folder, { writer, checkpointer, masterKey }).catch((error: unknown) => {
    for (const thread of threads) thread.end()
    throw error
  })
  const encodeGroup = createGroupEncoder()
  const close = async (): Promise<void> => {
    for (const thread of threads) {
      await thread.ask({ close: true }).catch(() => {})
      thread.end()
    }
  }

  return {
    commit: async (jobs) => {
      // never sent, so certainly not saved
      if (writer.hasFailed()) return jobs.map(() => ({ refusal: 'unavailable' }))
      return JSON.parse(await writer.ask<string>(encodeGroup(jobs))) as Outcome[]
    },
    close,
    onForeignWrite: (listener) => void listeners.foreignWrite.push(listener),
    onBroken: (listener) => void listeners.broken.push(listener),
  }
}

type ThreadsToOpen = { writer: Caller<ToWriter>; checkpointer: Caller<ToCheckpointer>; masterKey: string | null }

/** The writer migrates the database before the checkpointer opens it. */
async function openThreads(folder: string, { writer, checkpointer, masterKey }: ThreadsToOpen): Promise<void> {
  const failure = await writer.ask<Failure | null>({ open: folder, masterKey })
  if (failure) throw failure.code ? new StoreError(failure.code, failure.message) : new Error(failure.message)
  await checkpointer.ask({ open: folder })
}

type Listeners = ReturnType<typeof createListeners>

const createListeners = () => ({ foreignWrite: [] as (() => void)[], broken: [] as ((reason: string) => void)[] })

type Call = { resolve: (answer: never) => void; reject: (error: Error) => void }

type Caller<Message> = {
  ask: <Answer>(message: Message) => Promise<Answer>
  hasFailed: () => boolean
  end: () => void
}

/** The thread answers in order. After a failure, every call rejects. */
function createCaller<Message>(file: string, listeners: Listeners): Caller<Message> {
  const worker = takeWorker(file)
  let calls: Call[] = []
  let failure: Error | null = null

  const refuse = (reason: string): void => {
    const error = new Error(reason)
    failure = error
    for (const { reject } of calls) reject(error)
    calls = []
  }
  const fail = (reason: string): void => {
    if (failure) return
    refuse(reason)
    for (const listener of listeners.broken) listener(reason)
  }
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if (typeof data === 'string') calls.shift()?.resolve(data as never)
    else if ('answer' in data) calls.shift()?.resolve(data.answer as never)
    else if ('broken' in data) fail(data.broken)
    else for (const listener of listeners.foreignWrite) listener()
  }
  worker.onerror = (event) => fail(event.message)

  return {
    ask: <Answer>(message: Message): Promise<Answer> =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure)
        worker.postMessage(message)
        calls.push({ resolve, reject })
      }),
    hasFailed: (): boolean => failure !== null,
    end: (): void => {
      refuse('closed')
      worker.terminate()
    },
  }
}
