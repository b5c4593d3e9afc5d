import { expect } from 'bun:test'

/** One line on standard error, which names the program and no line of its code, and nothing else. */
const said = (code: number, words: string) => ({
  code,
  out: '',
  err: expect.stringMatching(new RegExp(`^eventpost: (?![^\\n]*\\.ts:)[^\\n]*${words}[^\\n]*\\n$`)),
})

/** Understood and not done. */
export const refused = (words: string) => said(1, words)
export const wrongUse = (words: string) => said(2, words)
