import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createProgressReport } from '../../src/cli/move.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { eventpost, eventpostJson, makeFolder, MANY_MS, setUp, startServer } from './process.ts'
import { refused, wrongUse } from './refused.ts'

const MOVE_MS = 2 * MANY_MS
const { folder, remove } = makeFolder()
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
}, 120_000)
afterAll(async () => {
  await server?.stop()
  remove()
})

test(
  'moves to PostgreSQL and back; the old side refuses until the move is undone',
  async () => {
    const data = `${folder}/data`
    const { appId } = await setUp(data, {})
    const url = server.url('postgres')
    const place = url.replace('postgres@', '')
    const how = { env: { EVENTPOST_DATABASE_URL: url } }
    // the user comes from the variable, whatever its database
    const moved = await eventpostJson<{ checked: string; to: string }>(['move', '--to', place, '--data', data], {
      env: { EVENTPOST_DATABASE_URL: server.url('template1') },
    })
    expect([moved.checked, moved.to]).toEqual(['ok', place])
    expect(await eventpost(['app', 'list', '--data', data])).toEqual(refused(`was moved to ${place} at `))
    expect(await eventpost(['serve', '--data', data, '--port', '0'])).toEqual(refused(`move --undo --to ${place}`))
    const there = await eventpostJson<{ id: string }[]>(['app', 'list'], how)
    expect(JSON.stringify(there)).toContain(appId)
    const returned = `${folder}/returned`
    await eventpostJson(['move', '--to', returned], how)
    expect(await eventpost(['app', 'list'], how)).toEqual(refused(`was moved to ${returned}`))
    expect(await eventpostJson<unknown>(['app', 'list', '--data', returned])).toEqual(there)
    expect(await eventpostJson(['move', '--undo', '--to', returned], how)).toEqual({
      undone: place,
      next: `Use ${place}. Don't start a server on ${returned}: two servers would send the same emails.`,
    })
    expect(await eventpostJson<unknown>(['app', 'list'], how)).toEqual(there)
  },
  MOVE_MS,
)

test(
  'refuses a folder that a server uses',
  async () => {
    const data = `${folder}/served`
    await setUp(data, {})
    const running = await startServer({ data })
    expect(await eventpost(['move', '--to', server.url('postgres'), '--data', data])).toEqual(
      refused('Another Eventpost server is using'),
    )
    await running.stop()
  },
  MOVE_MS,
)

test(
  'no server and no command uses a folder that a move into it is not finished',
  async () => {
    const data = `${folder}/unfinished`
    await Bun.write(`${data}/eventpost.db.moving`, 'copied')
    const unfinished = refused(`To continue: eventpost move --to ${data}. To undo the move: eventpost move --undo --to`)
    const env = { EVENTPOST_DATABASE_URL: undefined }
    for (const words of [
      ['serve', '--port', '0'],
      ['init', '--email', 'owner@example.com', '--app', 'Demo'],
      ['app', 'list'],
    ])
      expect(await eventpost([...words, '--data', data], { env })).toEqual(unfinished)
    expect(await eventpost(['backup', `${folder}/copy.db`, '--data', data], { env })).toEqual(unfinished)
    expect(readdirSync(data)).toEqual(['eventpost.db.moving'])
  },
  MOVE_MS,
)

test('explains wrong use', async () => {
  expect(await eventpost(['move'])).toEqual(wrongUse('--to is missing'))
  expect(await eventpost(['move', '--to', 'postgres://db.example.com'])).toEqual(
    wrongUse('takes an address with a database name'),
  )
  expect(await eventpost(['move', '--to', 'mysql://127.0.0.1/eventpost'])).toEqual(wrongUse('begins with postgres://'))
  expect(await eventpost(['move', '--to', folder])).toEqual(wrongUse('EVENTPOST_DATABASE_URL is missing'))
})

test(
  'a password does not show in an error',
  async () => {
    const url = server.url('nothing').replace('postgres@', 'postgres:hidden@')
    const data = `${folder}/other`
    await setUp(data, {})
    const ran = await eventpost(['move', '--to', url, '--data', data])
    expect(ran).toEqual(refused('there is no database nothing'))
    expect(ran.err).not.toContain('hidden')
  },
  MANY_MS,
)

test('reports rows, percent and the time left, every two seconds', () => {
  let now = 0
  const lines: string[] = []
  const note = createProgressReport(
    (line) => lines.push(line),
    () => now,
  )
  for (const [at, rows] of [
    [0, 500_000],
    [1_000, 600_000],
    [2_000, 700_000],
    [3_000, 800_000],
    [4_000, 900_000],
  ] as const) {
    now = at
    note({ rows, allRows: 20_000_000, tables: ['events'] })
  }
  expect(lines).toEqual([
    '3%, 700,000 of 20,000,000 rows, 100,000 a second, 4 min left (events)',
    '4%, 900,000 of 20,000,000 rows, 100,000 a second, 4 min left (events)',
  ])
})
