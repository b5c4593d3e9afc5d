/** What the fault tests measured, for the table that `bun run test:faults` prints. */
import { appendFileSync } from 'node:fs'

export type Figure = { target: string; asked: string; measured: string; isReached: boolean }

/** Set by the long run only. */
const FILE = process.env.FAULT_FIGURES

/** Call it before the expectations: a missed target belongs in the table too. */
export function report(figure: Figure): void {
  if (FILE !== undefined) appendFileSync(FILE, `${JSON.stringify(figure)}\n`)
}

/** A target that this machine cannot measure is missed. */
export const reportNotRun = (target: string, why: string): void =>
  report({ target, asked: 'run', measured: `not run: ${why}`, isReached: false })
