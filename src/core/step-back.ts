import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** sched(7): runs when nobody else wants the processor. */
const SCHED_IDLE = 5
/** prctl(2): the signal that a process gets when the one that started it has ended. */
const PR_SET_PDEATHSIG = 1
/** proc(5): where memory is short, this process ends and the service goes on. */
const FIRST_TO_END = '1000'

/**
 * Lets this process run only when no other wants the processor, so that events are taken as fast as without it; on Linux it
 * also ends with the service that started it, and before it where memory is short. A sandbox may forbid any of that: it is
 * only slower for the others then.
 */
export function stepBack(): void {
  attempt(() => becomeIdle() || setPriority(constants.priority.PRIORITY_LOW))
  if (process.platform === 'linux') attempt(() => writeFileSync('/proc/self/oom_score_adj', FIRST_TO_END))
}

function attempt<T>(step: () => T): T | null {
  try {
    return step()
  } catch {
    return null
  }
}

/**
 * The lowest nice value is not enough: Linux lets such a thread finish its slice of 3 ms while a request waits (measured on
 * two cores: events kept half of their rate beside it). Each thread is told; those to come are like the one that starts
 * them. False where there is no glibc.
 */
function becomeIdle(): boolean {
  const library = process.platform === 'linux' ? attempt(openLibrary) : null
  if (!library) return false
  const { prctl, sched_setscheduler } = library.symbols
  prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL)
  const threads = readdirSync('/proc/self/task').map(Number)
  const answers = threads.map((thread) => sched_setscheduler(thread, SCHED_IDLE, ptr(new Int32Array(1))))
  library.close()
  return answers.every((answer) => answer === 0)
}

const openLibrary = () =>
  dlopen('libc.so.6', {
    prctl: { args: ['i32', 'u64'], returns: 'i32' },
    sched_setscheduler: { args: ['i32', 'i32', 'ptr'], returns: 'i32' },
  })
