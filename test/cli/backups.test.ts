/** Backups as a user makes them: beside a running server under load, and restored elsewhere. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { openForReading, openUnchanged } from '../../src/store/engine/database.ts'
import { startLoad } from '../faults/load.ts'
import { call, eventpost, eventpostJson, makeFolder, setUp, startServer } from './process.ts'

const CLIENTS = 20

let made: ReturnType<typeof makeFolder>
beforeEach(() => void (made = makeFolder()))
afterEach(() => made.remove())

/** Of people with an event. */
function listEmails(folder: string): Set<string> {
  const db = openForReading(folder)
  const rows = db.query<{ email: string }, []>('SELECT email FROM contacts WHERE id IN (SELECT contact_id FROM events)')
  const emails = new Set(rows.all().map(({ email }) => email))
  db.close()
  return emails
}

test('a backup beside a server under load has every event acknowledged before it began', async () => {
  const { folder } = made
  const [data, file, restored] = [`${folder}/data`, `${folder}/backup.db`, `${folder}/restored`]
  const begun = await setUp(data)
  const server = await startServer({ data })
  const load = startLoad({ url: server.url, key: begun.apiKey, app: begun.appId }, { clients: CLIENTS, round: 0 })
  while (load.counted.acknowledged.length < 500) await Bun.sleep(10)
  const before = [...load.counted.acknowledged]
  const printed = await eventpostJson<object>(['backup', file, '--data', data])
  load.stop()
  await load.ended
  expect(load.counted.counts.other_status).toBe(0)
  expect(printed).toEqual({ file, bytes: statSync(file).size, checked: 'ok' })
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const again = await eventpost(['backup', file, '--data', data])
  expect([again.code, again.err]).toEqual([
    1,
    `eventpost: ${file} already exists. Choose another name, or delete it first.\n`,
  ])
  await eventpostJson(['restore', file, '--data', restored])
  const stored = listEmails(restored)
  expect(before.filter((email) => !stored.has(email))).toEqual([])
  const known = new Set([...load.counted.acknowledged, ...load.counted.unanswered])
  expect([...stored].filter((email) => !known.has(email))).toEqual([])

  const mistyped = await eventpost(['backup', `${folder}/none/backup.db`, '--data', data])
  expect([mistyped.code, mistyped.err]).toEqual([1, expect.stringContaining('does not exist. Create the folder first')])

  // the running server shows the one that was made, and the restored one works with the same key
  const db = openForReading(data)
  expect(db.query('SELECT kind, place, bytes, error FROM backups').values()).toEqual([
    ['manual', file, statSync(file).size, null],
  ])
  db.close()
  await server.stop()
  const moved = await startServer({ data: restored })
  const person = `/api/v1/contacts?newsletter=${begun.appId}&email=${before[0]}`
  expect((await call(moved.url, begun.apiKey, 'GET', person)).status).toBe(200)
  await moved.stop()
})

test('a backup that was made is reported, also if the database can note nothing', async () => {
  const { folder } = made
  const [data, file] = [`${folder}/data`, `${folder}/backup.db`]
  await setUp(data)
  const busy = openUnchanged(data)
  busy.run('BEGIN IMMEDIATE')
  const backup = await eventpost(['backup', file, '--data', data])
  busy.run('ROLLBACK')
  busy.close()
  expect(existsSync(file)).toBe(true)
  expect([backup.code, backup.err]).toEqual([
    0,
    'eventpost: the backup is complete, but the database could not record it: database is locked\n',
  ])
})

test('a restore says what it did and what is next, and refuses a folder in use', async () => {
  const { folder } = made
  const [data, file] = [`${folder}/data`, `${folder}/backup.db`]
  await setUp(data)
  await eventpostJson(['backup', file, '--data', data])
  const used = await eventpost(['restore', file, '--data', data])
  expect(used.code).toBe(1)
  expect(used.err).toContain(`${data} already has a database. Restore into another folder with --data, or stop`)
  const missing = await eventpost(['restore', `${folder}/none.db`, '--data', `${folder}/new`])
  expect([missing.code, missing.err]).toEqual([1, `eventpost: There is no file ${folder}/none.db.\n`])
  expect(existsSync(`${folder}/new`)).toBe(false)
  writeFileSync(`${folder}/cut.db`, readFileSync(file).subarray(0, -8_192))
  const damaged = await eventpost(['restore', `${folder}/cut.db`, '--data', `${folder}/new`])
  expect([damaged.code, damaged.err]).toEqual([
    1,
    expect.stringMatching(/cut\.db is damaged.*\. Restore another backup\.\n$/),
  ])
  rmSync(`${folder}/cut.db`)
  // downloads: of a killed restore, of a running one, and of another folder
  const ended = Bun.spawnSync(['true']).pid
  const downloads = [`new.${ended}.download`, `new.${process.pid}.download`, `new.x.${ended}.download`]
  for (const name of downloads) writeFileSync(`${folder}/${name}`, 'half')
  const { out } = await eventpost(['restore', file, '--data', `${folder}/new`])
  expect(out).toMatch(/^pausedMessages +0$/m)
  expect(out).toMatch(/^next +Start the server, .*make messages live again\.$/m)
  expect(readdirSync(folder).sort()).toEqual(['backup.db', 'data', 'new', ...downloads.slice(1)])
})
