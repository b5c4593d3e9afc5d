import { expect } from 'bun:test'

/** One line on stderr with the program's name, without a stack trace. */
const said = (code: number, words: string) => ({
  code,
  out: '',
  err: expect.stringMatching(new RegExp(`^eventpost: (?![^\\n]*\\.ts:)[^\\n]*${words}[^\\n]*\\n$`)),
})

export const refused = (words: string) => said(1, words)
export const wrongUse = (words: string) => said(2, words)
