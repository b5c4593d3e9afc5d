import { expect, test } from 'bun:test'
import { version } from '../../package.json'
import { SCHEMA_VERSION } from '../../src/store/engine/migrations/index.ts'
import { eventpost, eventpostJson } from './process.ts'

test('-v equals --version, and --data is accepted', async () => {
  for (const words of [['-v'], ['--version'], ['version', '--data', '/proc/nowhere']]) {
    expect(await eventpostJson<object>(words)).toEqual({ version, schemaVersion: SCHEMA_VERSION })
  }
})

test('version prints both versions, as JSON and for people, and needs no data folder', async () => {
  const env = { EVENTPOST_DATA: '/proc/nowhere' }
  expect(await eventpostJson<object>(['version'], { env })).toEqual({ version, schemaVersion: SCHEMA_VERSION })
  expect(await eventpost(['version'], { env })).toEqual({
    code: 0,
    out: `version        ${version}\nschemaVersion  ${SCHEMA_VERSION}\n`,
    err: '',
  })
})
