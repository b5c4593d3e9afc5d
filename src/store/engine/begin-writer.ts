import { beginWorker, WRITER_THREAD } from './workers.ts'

// imported first, so that the thread loads in parallel with everything else (measured: 25 ms)
if (process.argv[2] === 'serve') beginWorker(WRITER_THREAD)
