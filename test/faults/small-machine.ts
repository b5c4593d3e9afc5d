/** A machine of one processor and little memory, by the control groups of Linux. Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
const PERIOD_US = 100_000
const NAME = 'eventpost-faults'
/** Other processes of this machine may not take the time that is meant for the service. */
const MOST_SHARES = 262_144

type Limit = { file: string; value: string }

/** Version 1 has a tree for each resource, version 2 one for all. */
function listLimits(memoryBytes: number): Limit[] {
  const [cpu, memory] = [join(ROOT, 'cpu', NAME), join(ROOT, 'memory', NAME)]
  if (existsSync(join(ROOT, 'memory'))) {
    return [
      { file: join(cpu, 'cpu.cfs_period_us'), value: String(PERIOD_US) },
      { file: join(cpu, 'cpu.cfs_quota_us'), value: String(PERIOD_US) },
      { file: join(cpu, 'cpu.shares'), value: String(MOST_SHARES) },
      { file: join(memory, 'memory.limit_in_bytes'), value: String(memoryBytes) },
    ]
  }
  const one = join(ROOT, NAME)
  return [
    { file: join(one, 'cpu.max'), value: `${PERIOD_US} ${PERIOD_US}` },
    { file: join(one, 'memory.max'), value: String(memoryBytes) },
  ]
}

/** @throws Error where this machine has no control groups */
export function createSmallMachine({ memoryBytes }: { memoryBytes: number }) {
  const limits = listLimits(memoryBytes)
  const groups = [...new Set(limits.map(({ file }) => join(file, '..')))]
  for (const group of groups) mkdirSync(group, { recursive: true })
  for (const { file, value } of limits) writeFileSync(file, value)
  const join_ = groups.map((group) => `echo $$ > ${join(group, 'cgroup.procs')}`).join(' && ')
  return {
    /** Runs a program on it, on one processor. */
    wrap: (program: string[]): string[] => ['sh', '-c', `${join_} && exec taskset -c 0 "$@"`, 'sh', ...program],
    processes: (): number[] =>
      readFileSync(join(groups[0] ?? '', 'cgroup.procs'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map(Number),
    /** When all of its processes have ended. */
    remove: (): void => groups.forEach((group) => rmdirSync(group)),
  }
}
