import { dlopen, ptr } from 'bun:ffi'
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** sched(7): runs when nobody else wants the processor. */
const SCHED_IDLE = 5

/** Lets this process run only when no other wants the processor, so that events are taken as fast as without it. */
export function stepBack(): void {
  try {
    if (!becomeIdle()) setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // a sandbox may forbid it: it is only slower for the others then
  }
}

/**
 * The lowest nice value is not enough: Linux lets such a thread finish its slice of 3 ms while a request waits (measured on
 * two cores: events kept half of their rate beside it). Each thread is told; those to come are like the one that starts
 * them. False where there is no glibc.
 */
function becomeIdle(): boolean {
  if (process.platform !== 'linux') return false
  try {
    const { symbols, close } = dlopen('libc.so.6', {
      sched_setscheduler: { args: ['i32', 'i32', 'ptr'], returns: 'i32' },
    })
    const threads = readdirSync('/proc/self/task').map(Number)
    const answers = threads.map((thread) => symbols.sched_setscheduler(thread, SCHED_IDLE, ptr(new Int32Array(1))))
    close()
    return answers.every((answer) => answer === 0)
  } catch {
    return false
  }
}
