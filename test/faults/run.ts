/**
 * `bun run test:faults [NAME...]`: every fault test in its long form, or those that are named, and a table of what was asked and
 * measured. Exits 1 if a target is missed or could not be measured. A whole run takes hours; it needs
 * Linux, root, `cc`, `strace` and `faketime`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Figure } from './figures.ts'

/** Runs tests of this folder, or a command. */
type Step = { name: string; env?: Record<string, string> } & ({ files: string[] } | { command: string[] })

const STEPS: Step[] = [
  {
    name: 'power-cut',
    files: ['loop-disk', 'power-cut'],
    env: { LOOP_CUTS: '100', LOOP_EVENTS: '2500', POWER_CUTS: '200', POWER_CUT_LOAD_MS: '4000' },
  },
  { name: 'crash', files: ['crash', 'kill'], env: { CRASH_POINTS: '120' } },
  { name: 'mail', files: ['mail-kill', 'mail-ended', 'mail-stop'], env: { KILLED_MAILS: '2000', MAIL_KILLS: '15' } },
  { name: 'disk', files: ['running', 'start'] },
  { name: 'clock', files: ['clock'] },
  { name: 'stop', files: ['drain'], env: { DRAINS: '5' } },
  {
    name: 'slow-clients',
    files: ['slow-clients'],
    env: { SLOW_CLIENTS: '1000', SLOW_SECONDS: '10', SLOW_ROUNDS: '5' },
  },
  { name: 'hostile-files', files: ['hostile-files'] },
  { name: 'soak', files: ['soak'], env: { SOAK_MINUTES: '30' } },
  { name: 'small-machine', files: ['small-machine'], env: { SMALL_SECONDS: '60' } },
  { name: 'alerts', files: ['../monitoring/taken-away'], env: { ALERTS: 'all' } },
  { name: 'cluster', files: ['../cluster/cluster', '../cluster/journey'], env: { CLUSTER: 'all' } },
  { name: 'backup', command: ['test/bench/backup.ts'] },
  // takes what `bun run seed` made, or makes it
  { name: 'pages', command: ['test/bench/pages.ts'] },
]

const figures = join(tmpdir(), `fault-figures-${process.pid}`)

function takeFigures(): Figure[] {
  if (!existsSync(figures)) return []
  const lines = readFileSync(figures, 'utf8').split('\n').filter(Boolean)
  rmSync(figures)
  return lines.map((line) => JSON.parse(line) as Figure)
}

const wordsOf = (step: Step): string[] =>
  'files' in step
    ? ['test', '--timeout', '60000', ...step.files.map((file) => `./${join('test/faults', file)}.test.ts`)]
    : step.command

async function run(step: Step): Promise<Figure[]> {
  const { name, env } = step
  const child = Bun.spawn([process.execPath, ...wordsOf(step)], {
    // a setting of the caller's counts: for example SOAK_MINUTES=6
    env: { EVENTPOST_TEST_PROGRAM: 'dist/eventpost', ...env, ...process.env, FAULT_FIGURES: figures },
    stdout: 'inherit',
    stderr: 'inherit',
  })
  const code = await child.exited
  const found = takeFigures()
  const isFailed = code !== 0 && found.every(({ isReached }) => isReached)
  const all = { target: `All of ${name}`, asked: 'pass' }
  return isFailed || found.length === 0
    ? [...found, { ...all, measured: `exit ${code}`, isReached: code === 0 }]
    : found
}

function describeTable(rows: Figure[]): string {
  const cells = [
    ['Target', 'Asked', 'Measured', 'OK'],
    ...rows.map(({ target, asked, measured, isReached }) => [target, asked, measured, isReached ? 'yes' : 'NO']),
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
  return lines.toSpliced(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`).join('\n')
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !STEPS.some((step) => step.name === name))
if (unknown.length > 0) {
  console.error(
    `There is no fault test ${unknown.join(', ')}. Choose from: ${STEPS.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}
const rows: Figure[] = []
for (const step of STEPS) if (names.length === 0 || names.includes(step.name)) rows.push(...(await run(step)))
const table = describeTable(rows)
console.log(`\n${table}`)
writeFileSync(join(import.meta.dir, '../../dist/faults.md'), `${table}\n`)
process.exit(rows.every(({ isReached }) => isReached) ? 0 : 1)
