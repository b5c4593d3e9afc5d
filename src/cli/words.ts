import { parseArgs } from 'node:util'
import { UsageError } from '../config.ts'
import type { Command, Given } from './command.ts'

/** @throws UsageError naming what cannot be understood */
export function readWords(command: Command, words: string[]): Given {
  const { values, positionals, tokens } = parse(command, words)
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const twice = names.find((name, index) => !command.options[name]?.multiple && names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice. Give it once.`)
  const all = (name: string): string[] => [values[name] ?? []].flat().filter((value) => typeof value === 'string')
  return { all, text: (name) => all(name)[0], isSet: (name) => values[name] === true, words: positionals }
}

function parse(command: Command, words: string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  try {
    return parseArgs({ args: joinNumbers(words), options, allowPositionals: command.words !== undefined, tokens: true })
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s/)[0] ?? '') : ''
    throw new UsageError(`${reason}. Run eventpost ${command.name} --help.`)
  }
}

/** A negative number is the value of the option before it, not an option. */
const joinNumbers = (words: string[]): string[] =>
  words.reduce<string[]>((joined, word) => {
    const last = joined.at(-1)
    const isValue = /^-\d/.test(word) && last !== undefined && /^--[a-z-]+$/.test(last)
    return isValue ? [...joined.slice(0, -1), `${last}=${word}`] : [...joined, word]
  }, [])
