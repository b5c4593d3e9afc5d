import type { Output } from '../../src/ops/output.ts'

/** An output that is written at once, to a list. */
export const keepOutput = (texts: string[]): Output => ({
  write: (lines) => void texts.push(lines),
  end: () => Promise.resolve(),
  endNow: (lines) => void texts.push(lines),
})
