import type { ToCheckpointer } from './checkpoint-thread.ts'
import { StoreError } from './errors.ts'
import type { Failure, FromThread, ToWriter } from './writer-thread.ts'
import { CHECKPOINT_THREAD, takeWorker, WRITER_THREAD } from './workers.ts'
import { type Channel, createGroupEncoder } from './writer.ts'
import type { Outcome } from '../writes.ts'

/** Starts the writing thread and the checkpointing one. @throws StoreError when the folder cannot be opened */
export async function startThreads(folder: string, masterKey: string | null): Promise<Channel> {
  const news = createNews()
  const writer = createCaller<ToWriter>(WRITER_THREAD, news)
  // begins beside the other, and opens the folder only when that has
  const checkpointer = createCaller<ToCheckpointer>(CHECKPOINT_THREAD, news)
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
      // what was never sent is certainly not saved
      if (writer.hasFailed()) return jobs.map(() => ({ refusal: 'unavailable' }))
      return JSON.parse(await writer.ask<string>(encodeGroup(jobs))) as Outcome[]
    },
    close,
    onForeignWrite: (listener) => void news.foreignWrite.push(listener),
    onBroken: (listener) => void news.broken.push(listener),
  }
}

type Opening = { writer: Caller<ToWriter>; checkpointer: Caller<ToCheckpointer>; masterKey: string | null }

/** The writing thread makes the database what it should be, then the other may open it. */
async function openThreads(folder: string, { writer, checkpointer, masterKey }: Opening): Promise<void> {
  const failure = await writer.ask<Failure | null>({ open: folder, masterKey })
  if (failure) throw failure.code ? new StoreError(failure.code, failure.message) : new Error(failure.message)
  await checkpointer.ask({ open: folder })
}

type News = ReturnType<typeof createNews>

const createNews = () => ({ foreignWrite: [] as (() => void)[], broken: [] as ((reason: string) => void)[] })

type Call = { resolve: (answer: never) => void; reject: (error: Error) => void }

type Caller<Message> = {
  ask: <Answer>(message: Message) => Promise<Answer>
  hasFailed: () => boolean
  end: () => void
}

/** A thread that answers in order. Once it has failed, every call rejects and the listeners know. */
function createCaller<Message>(file: string, news: News): Caller<Message> {
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
    for (const listener of news.broken) listener(reason)
  }
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if (typeof data === 'string') calls.shift()?.resolve(data as never)
    else if ('answer' in data) calls.shift()?.resolve(data.answer as never)
    else if ('broken' in data) fail(data.broken)
    else for (const listener of news.foreignWrite) listener()
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
