import { VERSION } from '../core/version.ts'
import { SCHEMA_VERSION } from '../store/engine/migrations/index.ts'
import { type Command, DATA, JSON_OUTPUT } from './command.ts'

export const version: Command = {
  name: 'version',
  summary: 'prints the version and the schema version',
  // opens no database, but takes --data as every command does
  options: { ...DATA, ...JSON_OUTPUT },
  run: async () => ({ version: VERSION, schemaVersion: SCHEMA_VERSION }),
}

export const licenses: Command = {
  name: 'licenses',
  summary: 'prints the licenses of everything in this executable',
  // every command takes --data; this one opens no database
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given) => {
    const { readLicenses } = await import('../assets.ts')
    const { text, parts } = readLicenses()
    return given.isSet('json') ? parts.map(({ name, license }) => ({ name, license })) : text.trimEnd()
  },
}
