import { VERSION } from '../core/version.ts'
import { SCHEMA_VERSION } from '../store/migrations/index.ts'
import { type Command, JSON_OUTPUT } from './command.ts'

export const version: Command = {
  name: 'version',
  summary: 'prints the version and the schema version',
  options: JSON_OUTPUT,
  run: async () => ({ version: VERSION, schemaVersion: SCHEMA_VERSION }),
}
