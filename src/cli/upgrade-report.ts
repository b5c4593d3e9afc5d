import { statSync } from 'node:fs'
import { formatBytes } from '../core/bytes.ts'
import type { OnUpgrade, UpgradeProgress } from '../store/engine/upgrades.ts'

const REPORT_EVERY_MS = 2_000
const WHOLE_PERCENT = 100

type Step = Exclude<UpgradeProgress, { phase: 'done' }>

/** A line per phase. If the upgrade runs on another thread, also a line every two seconds. */
export function createUpgradeReport(say: (line: string) => void, monotonicMs = () => performance.now()): OnUpgrade {
  let step: Step | null = null
  let startedAt = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const seconds = (): number => Math.round((monotonicMs() - startedAt) / 1_000)
  const begin = (first: Step): void => {
    startedAt = monotonicMs()
    timer = setInterval(() => say(describeStill(step ?? first, seconds())), REPORT_EVERY_MS)
    timer.unref()
  }
  return (progress) => {
    if (progress.phase === 'done') {
      clearInterval(timer)
      return say(describeDone(progress, seconds()))
    }
    if (step === null) begin(progress)
    if (step?.phase !== progress.phase) say(describePhase(progress))
    step = progress
  }
}

const describeDone = ({ from, to, copy }: UpgradeProgress & { phase: 'done' }, seconds: number): string =>
  `upgraded the database from schema version ${from} to ${to} in ${seconds} s; the copy made before the upgrade, ${copy}, is removed after a week`

const describePhase = (step: Step): string =>
  step.phase === 'copying'
    ? `upgrading the database from schema version ${step.from} to ${step.to}: copying it first (${formatBytes(step.bytes)})`
    : 'upgrading the database: copied; changing it now'

function describeStill(step: Step, seconds: number): string {
  const written = statSync(step.file, { throwIfNoEntry: false })?.size ?? 0
  if (step.phase === 'migrating')
    return `upgrading the database: schema version ${step.version} of ${step.to}, ${formatBytes(written)} written in ${seconds} s`
  const percent = Math.min(WHOLE_PERCENT, Math.floor((written / step.bytes) * WHOLE_PERCENT))
  return `upgrading the database: ${percent}% copied in ${seconds} s`
}
