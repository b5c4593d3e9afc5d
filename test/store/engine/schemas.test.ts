/** Databases of every release are upgraded. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath, openDatabase } from '../../../src/store/engine/database.ts'
import { MIGRATIONS } from '../../../src/store/engine/migrations/index.ts'
import { makeFolder } from '../../data-folder.ts'
import { useFolder } from '../databases.ts'
import { createFrom, listSchemas, writeSchema } from './schemas.ts'

const databases = useFolder()
const schemas = listSchemas()
const CHANGELOG = join(import.meta.dir, '../../../CHANGELOG.md')

let newest = ''
beforeAll(() => {
  const { folder, remove } = makeFolder()
  const db = openDatabase(folder)
  newest = writeSchema(db)
  db.close()
  remove()
})

test('every release in the changelog has its schema kept', () => {
  const released = [...readFileSync(CHANGELOG, 'utf8').matchAll(/^## \[(\d[^\]]*)\]/gm)].map(([, version]) => version)
  expect(released.length).toBeGreaterThan(0)
  const kept = schemas.flatMap(({ releases }) => releases)
  expect(released.filter((version) => !kept.includes(version ?? ''))).toEqual([])
})

describe.each(schemas)('schema version $version', (schema) => {
  test('is what its migrations still make', () => {
    const db = databases.open(MIGRATIONS.slice(0, schema.version))
    expect(writeSchema(db)).toBe(schema.text)
  })

  test('is upgraded to the newest', () => {
    createFrom(schema, databasePath(databases.path()))
    const db = databases.open()
    expect(writeSchema(db)).toBe(newest)
    expect([db.query('PRAGMA integrity_check').values(), db.query('PRAGMA foreign_key_check').values()]).toEqual([
      [['ok']],
      [],
    ])
  })
})
