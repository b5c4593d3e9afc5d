import { getPriority, setPriority } from 'node:os'

/** A tenth of what a busy thread gets, so that its work ends on a busy machine too. */
const NICENESS = 10

/** Lowers the priority of this thread only. Elsewhere than on Linux, the call would lower that of the whole process. */
export function yieldToServer(): void {
  if (process.platform === 'linux') setPriority(0, Math.max(getPriority(0), NICENESS))
}
