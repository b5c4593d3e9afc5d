import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
export const EXECUTABLE = join(ROOT, 'dist/eventpost')

export type Service = { url: string; pid: number; /** file of what it said */ log: string; stop(): Promise<void> }

/** Starts a command and waits for its line "listening on URL". Its output goes to a file, as it would in production. */
export async function startService(command: string[], folder: string, env = {}): Promise<Service> {
  const log = join(folder, `out-${Math.random().toString(36).slice(2)}.log`)
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdout: openSync(log, 'w'),
    stderr: 'inherit',
  })
  const url = await waitFor(() => /^listening on (\S+)/m.exec(readFileSync(log, 'utf8').slice(0, 2000))?.[1])
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
  }
  return { url, pid: child.pid, log, stop }
}

async function waitFor<T>(look: () => T | undefined): Promise<T> {
  const until = performance.now() + 10_000
  while (performance.now() < until) {
    const found = look()
    if (found !== undefined) return found
    await Bun.sleep(1)
  }
  throw new Error('the service did not start in 10 seconds')
}

/** Runs a command to its end. @returns what it printed as JSON */
export async function runJson(command: string[], folder: string, env = {}): Promise<Record<string, string>> {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return JSON.parse(text) as Record<string, string>
}

/** A folder that is gone at the end. */
export function createFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'eventpost-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Until a process uses next to no processor: it has done what it does after its load; a minute at most. */
export async function waitForRest(pid: number): Promise<void> {
  for (let look = 0; look < 120; look += 1) {
    const before = cpuTicks(pid)
    await Bun.sleep(500)
    if (cpuTicks(pid) - before <= 1) return
  }
}

/** Processor time in hundredths of a second; 0 where the system does not tell. */
function cpuTicks(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

/** Processor time of all threads in ms; 0 where the system does not tell. */
export function processorMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const times = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    )
    return times.reduce((sum, ns) => sum + ns, 0) / 1e6
  } catch {
    return 0
  }
}

/** Resident memory in MB, where the system tells. */
export function residentMb(pid: number): number | null {
  try {
    const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return line ? Math.round(Number(line[1]) / 1024) : null
  } catch {
    return null
  }
}
