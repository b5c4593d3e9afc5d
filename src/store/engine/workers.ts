import { dirname, join } from 'node:path'

/** Threads, by their files in src. The one that writes is begun by core, which knows how to read what comes as text. */
export const [WRITER_THREAD, CHECKPOINT_THREAD, TEMPLATE_THREAD, SIMULATION_THREAD] = [
  'writer.ts',
  'store/engine/checkpoint-thread.ts',
  'mail/template-thread.ts',
  'deliveries/simulation/thread.ts',
] as const

const SOURCES = Bun.isStandaloneExecutable ? dirname(Bun.main) : join(import.meta.dir, '../..')

/** In a checkout `src`; in the executable where the build puts its further entry points. */
const threadPath = (file: string): string => join(SOURCES, file)

export type Thread = Worker & Pick<Bun.Worker, 'ref' | 'unref'>

/** smol: these threads hold little, and a small heap keeps the service under its 160 MB. */
const makeWorker = (file: string): Thread => new Worker(threadPath(file), { smol: true }) as Thread

const begun = new Map<string, Thread>()

/**
 * Begins a thread that will be asked for; until then it keeps no process alive. Take it before the event loop turns: what
 * it says earlier, such as why it could not begin, nobody hears.
 */
export function beginWorker(file: string): void {
  const worker = makeWorker(file)
  worker.unref()
  begun.set(file, worker)
}

/** The thread that was begun, or a new one. */
export function takeWorker(file: string): Thread {
  const worker = begun.get(file) ?? makeWorker(file)
  begun.delete(file)
  worker.ref()
  return worker
}
