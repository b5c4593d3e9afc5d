import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** sched(7): runs when nobody else wants the processor. */
const SCHED_IDLE = 5
/** prctl(2): the signal that a process gets when the one that started it has ended. */
const PR_SET_PDEATHSIG = 1
/** proc(5): where memory is short, this process ends and the service goes on. */
const FIRST_TO_END = '1000'

/** The nice value (sched(7)) of who gets a third of what others get. */
const A_THIRD = 5

/** `idle`: only what others leave; `low`: a small share, also where they leave nothing. */
export type Pace = 'idle' | 'low'

/**
 * Lets this process run only when no other wants the processor, so that events are taken as fast as without it, or more
 * rarely than others; on Linux it also ends with the service that started it, and before it where memory is short. A
 * sandbox may forbid any of that: it is only slower for the others then.
 * @returns what lets others go first. It is to be called many times a millisecond: a thread that computes for long without
 * it is made to stop by its neighbour, which takes that one's time (measured: 8 connections that wait for each event kept
 * 70 % of their rate, and with it 95 %)
 */
export function stepBack(pace: Pace): () => void {
  const library = process.platform === 'linux' ? attempt(openLibrary) : null
  if (library) attempt(() => library.symbols.prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL))
  const isIdle = pace === 'idle' && library !== null && attempt(() => becomeIdle(library)) === true
  if (!isIdle) attempt(() => setPriority(pace === 'idle' ? constants.priority.PRIORITY_LOW : A_THIRD))
  if (process.platform === 'linux') attempt(() => writeFileSync('/proc/self/oom_score_adj', FIRST_TO_END))
  return library?.symbols.sched_yield ?? (() => {})
}

function attempt<T>(step: () => T): T | null {
  try {
    return step()
  } catch {
    return null
  }
}

/** Null where there is no glibc. */
const openLibrary = () =>
  dlopen('libc.so.6', {
    prctl: { args: ['i32', 'u64'], returns: 'i32' },
    sched_setscheduler: { args: ['i32', 'i32', 'ptr'], returns: 'i32' },
    sched_yield: { args: [], returns: 'i32' },
  })

/**
 * The lowest nice value is not enough: Linux lets such a thread finish its slice of 3 ms while a request waits (measured on
 * two cores: events kept half of their rate beside it). Each thread is told; those to come are like the one that starts
 * them.
 */
function becomeIdle({ symbols: { sched_setscheduler } }: ReturnType<typeof openLibrary>): boolean {
  const threads = readdirSync('/proc/self/task').map(Number)
  const answers = threads.map((thread) => sched_setscheduler(thread, SCHED_IDLE, ptr(new Int32Array(1))))
  return answers.every((answer) => answer === 0)
}
