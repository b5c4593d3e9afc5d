import { readLicenses } from '../assets.ts'
import { type Command, DATA, JSON_OUTPUT } from './command.ts'

export const licenses: Command = {
  name: 'licenses',
  summary: 'prints the licenses of everything in this executable',
  // every command takes --data; this one opens no database
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given) => {
    const { text, parts } = readLicenses()
    return given.isSet('json') ? parts.map(({ name, license }) => ({ name, license })) : text.trimEnd()
  },
}
