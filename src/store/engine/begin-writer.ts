import { beginWorker, WRITER_THREAD } from './workers.ts'

// when this is imported, right after the process has begun: the thread loads while everything else does (measured: 25 ms)
if (process.argv[2] === 'serve') beginWorker(WRITER_THREAD)
