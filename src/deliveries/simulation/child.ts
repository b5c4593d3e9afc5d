import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FromSimulation, ToSimulation } from './process.ts'
import type { Pace } from './step-back.ts'

/** The first word of the process's command line, before its pace; no command that people type. */
export const SIMULATION_WORD = '--simulation'

/** On Linux by a name that is still this very program after its file was replaced by a newer one. */
const PROGRAM = process.platform === 'linux' ? '/proc/self/exe' : process.execPath
const SCRIPT = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, '../../main.ts')]

/** It needs none of the service's secrets, and not its small heap (ops/heap.ts): a million events need what there is. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'TZ']
/** Collecting in further threads would take time from two busy cores. */
const ENGINE_SETTINGS = { BUN_JSC_useConcurrentGC: '0', BUN_JSC_numberOfGCMarkers: '1' }

/** How often it is looked at whether it gets anywhere. */
const LOOK_MS = 500
/** Whoever waits for the processor for so much of the time would need minutes. */
const STARVED_SHARE = 0.95

/** `asked`: nobody waits for it any more. */
export type Ends = { asked: AbortSignal; deadline: AbortSignal }

/**
 * Runs a simulation in its process, which gets the processor when nobody else wants it; where others never stop wanting
 * it, once more with a small share of its own.
 * @returns null where it ended without an answer
 */
export async function startSimulation(request: ToSimulation, ends: Ends): Promise<FromSimulation | null> {
  const starved = new AbortController()
  const signals = Object.values(ends)
  const patient = spawn('idle', request, [...signals, starved.signal])
  const timer = watchStarving(patient.pid, () => starved.abort())
  const answer = await readAnswer(patient).finally(() => clearInterval(timer))
  const isAsked = !signals.some(({ aborted }) => aborted)
  return starved.signal.aborted && isAsked ? readAnswer(spawn('low', request, signals)) : answer
}

const spawn = (pace: Pace, request: ToSimulation, ends: AbortSignal[]) =>
  Bun.spawn([PROGRAM, ...SCRIPT, SIMULATION_WORD, pace], {
    stdin: Buffer.from(JSON.stringify(request)),
    stderr: 'inherit',
    env: { ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])), ...ENGINE_SETTINGS },
    signal: AbortSignal.any(ends),
    killSignal: 'SIGKILL',
  })

async function readAnswer(child: ReturnType<typeof spawn>): Promise<FromSimulation | null> {
  const text = await new Response(child.stdout).text()
  return (await child.exited) === 0 ? (JSON.parse(text) as FromSimulation) : null
}

/** Calls back when the process waits for the processor nearly all the time. */
function watchStarving(pid: number, onStarved: () => void): Timer {
  let [lookedAt, before] = [performance.now(), waitedMs(pid)]
  return setInterval(() => {
    const [now, waited] = [performance.now(), waitedMs(pid)]
    if (waited - before > (now - lookedAt) * STARVED_SHARE) onStarved()
    ;[lookedAt, before] = [now, waited]
  }, LOOK_MS)
}

/** How long a process has been ready to run while others ran (proc(5), schedstat); 0 where nothing tells that. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
