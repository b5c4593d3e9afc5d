import { dirname, join } from 'node:path'

/** Entry points of threads, relative to src. writer.ts is outside the store because it passes in the planners. */
export const [WRITER_THREAD, CHECKPOINT_THREAD, TEMPLATE_THREAD, SIMULATION_THREAD, BACKUP_THREAD] = [
  'writer.ts',
  'store/engine/checkpoint-thread.ts',
  'mail/template-thread.ts',
  'deliveries/simulation/thread.ts',
  'backups/thread.ts',
] as const

const SOURCES = Bun.isStandaloneExecutable ? dirname(Bun.main) : join(import.meta.dir, '../..')

/** In the executable, the build puts further entry points next to the main one. */
const threadPath = (file: string): string => join(SOURCES, file)

export type Thread = Worker & Pick<Bun.Worker, 'ref' | 'unref'>

/** `smol`: these threads need little memory, and a small heap keeps the service under its 160 MB. */
const makeWorker = (file: string): Thread => new Worker(threadPath(file), { smol: true }) as Thread

/** How long a thread without work waits for more. */
const IDLE_MS = 5_000

const started = new Map<string, Thread>()

/**
 * The thread does not keep the process alive until taken. Take it before the event loop turns, because earlier
 * messages and errors are lost.
 */
export function beginWorker(file: string): void {
  const worker = makeWorker(file)
  worker.unref()
  started.set(file, worker)
}

export function takeWorker(file: string): Thread {
  const worker = started.get(file) ?? makeWorker(file)
  started.delete(file)
  worker.ref()
  return worker
}

/** For the next who takes one, because starting a thread costs more than a short job. */
export function returnWorker(file: string, worker: Thread): void {
  if (started.has(file)) return worker.terminate()
  const end = (): void => {
    if (started.get(file) !== worker) return
    started.delete(file)
    worker.terminate()
  }
  worker.onmessage = null
  worker.onerror = end
  worker.addEventListener('close', end, { once: true })
  worker.unref()
  started.set(file, worker)
  setTimeout(end, IDLE_MS).unref()
}
