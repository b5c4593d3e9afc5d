import type { Output } from '../../src/ops/output.ts'

export const keepOutput = (texts: string[]): Output => ({
  write: (lines) => void texts.push(lines),
  end: () => Promise.resolve(),
  endNow: (lines) => void texts.push(lines),
})
