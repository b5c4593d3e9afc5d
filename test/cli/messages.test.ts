import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, call, eventpost, eventpostJson, makeFolder, type Running, setUp, startServer } from './process.ts'
import { refused, wrongUse } from './refused.ts'

const { folder, remove } = makeFolder()
let first: Begun
let server: Running

beforeAll(async () => {
  first = await setUp(folder)
  server = await startServer({ data: folder })
})
afterAll(async () => {
  await server.stop('SIGKILL')
  remove()
})

type Row = { name: string; change: string; status: string; fields: string }
type Message = { name: string; status: string; wait?: object; mail: { subject: string; body: string } }

const exportAll = async (): Promise<Message[]> => {
  const { code, out, err } = await eventpost(['message', 'export', '--data', folder, '--app', first.appId])
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out)
}
const write = (content: unknown): string => {
  const path = join(folder, 'messages.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const SENDER = { EVENTPOST_MAIL_FROM: 'post@example.com' }
const words = (file: string, ...more: string[]) => [
  'message',
  'import',
  file,
  '--data',
  folder,
  '--app',
  first.appId,
  ...more,
]
const importFile = (content: unknown, ...more: string[]) =>
  eventpostJson<Row[]>(words(write(content), ...more), { env: SENDER })

describe('message export and import', () => {
  test('a new app has two drafts; importing them changes nothing', async () => {
    const messages = await exportAll()
    expect(messages.map(({ name, status }) => [name, status])).toEqual([
      ['Results ready, they left', 'draft'],
      ['Results not opened yet', 'draft'],
    ])
    expect((await importFile(messages)).map(({ change }) => change)).toEqual(['unchanged', 'unchanged'])
  })

  test('--dry-run only lists changes; without it the running server knows at once', async () => {
    const before = await exportAll()
    const changed = [
      { ...before[0], wait: { minutes: 0 } },
      { ...before[1], name: 'Another' },
    ]
    const rows = [
      { name: 'Results ready, they left', change: 'changed', status: 'live', fields: 'status wait.minutes' },
      { name: 'Another', change: 'created', status: 'live', fields: '' },
    ]
    expect(await importFile(changed, '--status', 'live', '--dry-run')).toEqual(rows)
    const dry = ['--status', 'live', '--dry-run']
    expect((await eventpost(words(write(changed), ...dry), { env: SENDER })).err).toContain('nothing was saved')
    expect((await eventpost(words(write(before)), { env: SENDER })).err).not.toContain('nothing was saved')
    expect(await exportAll()).toEqual(before)
    const imported = await eventpost(words(write(changed), ...dry), { env: SENDER })
    expect(imported.err).toContain('eventpost: Another: mail: Values')
    expect(await importFile(changed, '--status', 'live')).toEqual(rows)
    const after = await exportAll()
    expect(after.map(({ name, status }) => [name, status])).toEqual([
      ['Results ready, they left', 'live'],
      ['Results not opened yet', 'draft'],
      ['Another', 'live'],
    ])
    expect(after[0]?.wait).toEqual({ minutes: 0 })
    const properties = { url: 'https://app.example.com/results/1', headline: 'Ready' }
    const body = { app: first.appId, email: 'ada@example.com', event: 'results_ready', createContact: true, properties }
    expect((await call(server.url, first.apiKey, 'POST', '/api/v1/events', body)).status).toBe(202)
  })

  test('as a table for people', async () => {
    const { code, out } = await eventpost(words(write(await exportAll())), { env: SENDER })
    expect([code, out.split('\n')[0]?.trim().split(/\s+/)]).toEqual([0, ['name', 'change', 'status', 'fields']])
  })
})

describe('is refused', () => {
  const wrong = { name: 'Wrong', trigger: { event: 'a b' }, wait: { minutes: -1 }, mail: { subject: 'S', body: 'B' } }
  test('an invalid message, with every field and its position', async () => {
    const ran = await eventpost(words(write([wrong])))
    expect(ran).toEqual(refused('.0..trigger.event: Enter an event name.* .0..wait.minutes: Enter a whole number'))
  })
  test('to go live without a sender', async () => {
    const fine = { ...wrong, trigger: { event: 'a' }, wait: { minutes: 0 } }
    const ran = await eventpost(words(write([fine]), '--status', 'live'))
    expect(ran).toEqual(refused('.0..mail.fromEmail: There is no sender address'))
  })
  test.each([
    ['an app of nobody', ['message', 'export', '--data', folder, '--app', 'app_none'], 'no app with this ID'],
    ['a file that is missing', ['message', 'import', 'none.json', '--data', folder, '--app', 'x'], "can't be read"],
  ])('%s', async (_, line, sentence) => expect(await eventpost(line)).toEqual(refused(sentence)))
  test('a file that is not JSON', async () => {
    expect(await eventpost(words(write('[')))).toEqual(refused('is not JSON'))
  })
  test('a file with a single message', async () => {
    expect(await eventpost(words(write('{}')))).toEqual(
      refused('file: Put the messages in a JSON array, even a single one'),
    )
  })
  test('without --app, the only app, and a refusal where there are several', async () => {
    const exported = () => eventpost(['message', 'export', '--data', folder])
    const { code, out } = await exported()
    expect([code, JSON.parse(out)]).toEqual([0, await exportAll()])
    const { appId } = await eventpostJson<Begun>(['app', 'create', '--name', 'Other', '--data', folder])
    expect(await exported()).toEqual(refused(`Choose one with --app: ${first.appId} .Demo., ${appId} .Other.`))
  })
  test('wrong words', async () => {
    const none = ['message', 'import', '--data', folder, '--app', first.appId]
    expect(await eventpost(none)).toEqual(wrongUse('Specify one message file'))
    expect(await eventpost(words(write([]), '--status', 'on'))).toEqual(wrongUse('--status takes'))
  })
})
