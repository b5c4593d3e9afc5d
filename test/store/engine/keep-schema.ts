/** `bun run keep-schema`, before a release: keeps its schema, from which every later version is upgraded in the tests. */
import { writeFileSync } from 'node:fs'
import { openDatabase } from '../../../src/store/engine/database.ts'
import { SCHEMA_VERSION } from '../../../src/store/engine/migrations/index.ts'
import { makeFolder } from '../../data-folder.ts'
import { schemaPath, writeKept } from './schemas.ts'

const { folder, remove } = makeFolder()
const db = openDatabase(folder)
writeFileSync(schemaPath(SCHEMA_VERSION), writeKept(db, SCHEMA_VERSION))
db.close()
remove()
console.log(`kept ${schemaPath(SCHEMA_VERSION)}`)
