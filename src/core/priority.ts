import { getPriority, setPriority } from 'node:os'

/** Beside a busy thread: `some` gets a quarter of a processor, `little` a tenth, so that both end on a busy machine too. */
const NICENESS = { some: 5, little: 10 }

/** Lowers the priority of this thread only. Elsewhere than on Linux, the call would lower that of the whole process. */
export function yieldToServer(share: keyof typeof NICENESS): void {
  if (process.platform === 'linux') setPriority(0, Math.max(getPriority(0), NICENESS[share]))
}
