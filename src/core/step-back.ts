import { dlopen, ptr } from 'bun:ffi'
import { constants, setPriority } from 'node:os'

/** sched(7): runs when nobody else wants the processor. */
const SCHED_IDLE = 5
/** And what it starts does not: the engine shares its compilers and collectors among all threads. */
const SCHED_RESET_ON_FORK = 0x40000000

/**
 * Lets the calling thread run only when no other wants the processor, so that events are taken as fast as without it. On
 * Linux, where a thread has a place of its own; elsewhere the whole process would step back, and nothing is done.
 */
export function stepBack(): void {
  if (process.platform !== 'linux') return
  try {
    if (!becomeIdle()) setPriority(0, constants.priority.PRIORITY_LOW)
  } catch {
    // a sandbox may forbid it: it is only slower for the others then
  }
}

/**
 * The lowest nice value is not enough: Linux lets such a thread finish its slice of 3 ms while a request waits (measured on
 * two cores, by a rehearsal in another process: events kept half of their rate beside it, nine tenths beside an idle one). False where there is no glibc.
 */
function becomeIdle(): boolean {
  try {
    const { symbols, close } = dlopen('libc.so.6', {
      sched_setscheduler: { args: ['i32', 'i32', 'ptr'], returns: 'i32' },
    })
    const done = symbols.sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, ptr(new Int32Array(1)))
    close()
    return done === 0
  } catch {
    return false
  }
}
