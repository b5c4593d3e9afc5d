import { withSql } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Begun,
  call,
  eventpost,
  eventpostJson,
  makeFolder,
  MANY_MS,
  type Running,
  setUp,
  startServer,
} from './process.ts'
import { refused, wrongUse } from './refused.ts'

const { folder, remove } = makeFolder()
let begun: Begun
let server: Running

beforeAll(async () => {
  begun = await setUp(folder)
  server = await startServer({ data: folder })
}, MANY_MS)
afterAll(async () => {
  await server.stop('SIGKILL')
  remove()
})

const at = (name: string): string => join(folder, name)
const run = (...words: string[]) => eventpost([...words, '--data', folder])

describe('beside a running server', () => {
  test('an import lists 100 errors, and says if there are more', async () => {
    const importWrong = async (lines: number) => {
      writeFileSync(at('wrong.csv'), `email\n${'nobody\n'.repeat(lines)}`)
      return (await run('import', at('wrong.csv'), '--app', begun.appId, '--dry-run')).err
    }
    const all = await importWrong(100)
    expect([all.includes('line 101: email'), all.includes('not shown')]).toEqual([true, false])
    const some = await importWrong(101)
    expect([some.includes('line 102: email'), some.includes('further errors are not shown')]).toEqual([false, true])
  })

  test(
    'people are exported, imported into another app with the errors of lines, and one is exported whole',
    async () => {
      const add = (body: object) =>
        call(server.url, begun.apiKey, 'POST', '/api/v1/contacts', { app: begun.appId, ...body })
      await add({ email: 'ada@example.com', firstName: '=Ada', tags: ['vip'] })
      expect(await run('export', at('people.csv'))).toEqual({ code: 0, out: '', err: '' })
      expect(statSync(at('people.csv')).mode & 0o777).toBe(0o600)
      expect(readFileSync(at('people.csv'), 'utf8')).toContain(`,'=Ada,`)
      expect(readdirSync(folder).filter((name) => name.startsWith('people.csv'))).toEqual(['people.csv'])
      expect(await run('export', at('people.csv'))).toEqual(refused('people.csv already exists. Choose another name'))
      const other = await eventpostJson<{ appId: string }>(['app', 'create', '--name', 'Other', '--data', folder])

      writeFileSync(at('more.csv'), `${readFileSync(at('people.csv'), 'utf8')}x,nobody,,,,,,,,,,,\r\n`)
      const into = ['--app', other.appId]
      const dry = await run('import', at('more.csv'), ...into, '--dry-run')
      expect([dry.code, dry.err]).toEqual([1, expect.stringContaining('eventpost: nothing was saved')])
      expect(dry.err).toContain('1 line would fail. Correct it, then import the file.')
      expect(dry.out).toBe('would add     1 person\nwould update  0 people\nwould fail    1 line\n')
      const { code, out, err } = await run('import', at('more.csv'), ...into, '--json')
      expect([code, JSON.parse(out)]).toEqual([1, { added: 1, updated: 0, failed: 1 }])
      expect(err).toMatch(/^eventpost: line 3: email: .+\n.*1 line could not be imported/s)
      const again = await eventpostJson(['import', at('people.csv'), ...into, '--data', folder])
      expect(again).toEqual({ added: 0, updated: 1, failed: 0 })
      expect(await lastImport()).toStartWith('1 person into the app')
      const lines = (await run('export', '--format', 'ndjson', ...into)).out.trim().split('\n')
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { email: 'ada@example.com', firstName: '=Ada', tags: ['vip'] },
      ])

      const person = await run('person', 'export', 'Ada@example.com', ...into)
      expect([person.code, JSON.parse(person.out)]).toMatchObject([
        0,
        { person: { firstName: '=Ada' }, emails: [], events: [] },
      ])
      const { status, body } = await call(
        server.url,
        begun.apiKey,
        'GET',
        `/api/v1/contacts/export?app=${other.appId}&email=ada@example.com`,
      )
      expect([status, body]).toEqual([200, { ok: true, ...JSON.parse(person.out) }])
    },
    MANY_MS,
  )

  test(
    'topics that people unsubscribed from go with them into an app that has these topics',
    async () => {
      const other = await eventpostJson<{ appId: string }>(['app', 'create', '--name', 'Topical', '--data', folder])
      const message = { name: 'Three tips', topic: 'Tips', status: 'draft', trigger: { event: 'a' } }
      writeFileSync(at('tips.json'), JSON.stringify([{ ...message, mail: { subject: 'Tips', body: 'Tips' } }]))
      const addTopic = (appId: string) => run('message', 'import', at('tips.json'), '--app', appId)
      const linesOf = (text: string) =>
        text
          .trim()
          .split('\r\n')
          .map((line) => [line.split(',')[1], line.split(',').at(-1)])
          .toSorted()

      expect((await addTopic(begun.appId)).code).toBe(0)
      writeFileSync(at('ended.csv'), 'email,endedTopics\nbob@example.com,Tips\ncleo@example.com,\n')
      const ended = ['import', at('ended.csv'), '--data', folder, '--app']
      expect(await eventpostJson([...ended, begun.appId])).toMatchObject({ added: 2 })
      const early = await eventpost([...ended, other.appId, '--dry-run'])
      expect([early.code, early.err]).toEqual([1, expect.stringContaining('line 2: endedTopics: This app has no')])
      expect((await run('export', at('topics.csv'), '--app', begun.appId)).code).toBe(0)

      expect((await addTopic(other.appId)).code).toBe(0)
      const into = ['--data', folder, '--app', other.appId]
      expect(await eventpostJson(['import', at('topics.csv'), ...into])).toMatchObject({ failed: 0 })
      const lines = linesOf(readFileSync(at('topics.csv'), 'utf8'))
      expect(lines).toContainEqual(['bob@example.com', '"[""Tips""]"'])
      expect(linesOf((await eventpost(['export', ...into])).out)).toEqual(lines)
    },
    MANY_MS,
  )
})

test(
  'refuses what it cannot read, and wrong use',
  async () => {
    expect(await run('person', 'export', 'grace@example.com', '--app', begun.appId)).toEqual(
      refused('no person with this email'),
    )
    expect(await run('person', 'export', 'grace')).toEqual(wrongUse('one complete email'))
    expect(await run('import', at('none.csv'))).toEqual(refused("can't be read"))
    writeFileSync(at('bad.csv'), new Uint8Array([101, 109, 97, 105, 108, 10, 0xff]))
    expect(await run('import', at('bad.csv'), '--app', begun.appId)).toEqual(
      refused('bad.csv: Line 2 is not UTF-8 text. Save the file as UTF-8'),
    )
    expect(await run('export', at('none/people.csv'), '--app', begun.appId)).toEqual(
      refused("can't be written .ENOENT"),
    )
    expect(await run('import')).toEqual(wrongUse('eventpost import FILE'))
    expect(await run('export', '--format', 'xml')).toEqual(wrongUse('csv or ndjson'))
  },
  MANY_MS,
)

const lastImport = (): Promise<string | undefined> =>
  withSql(folder, async (sql) => {
    const text = `SELECT subject FROM audit_entries WHERE action = 'data.import' ORDER BY id DESC LIMIT 1`
    return (await sql.prepare<{ subject: string }>(text).get())?.subject
  })

test(
  'stops after the current commit on Ctrl+C, and says and records how many people were imported',
  async () => {
    const emails = Array.from({ length: 30_000 }, (_, index) => (index === 50 ? 'nobody' : `many${index}@example.com`))
    writeFileSync(at('many.csv'), `email\n${emails.join('\n')}\n`)
    const words = ['import', at('many.csv'), '--app', begun.appId, '--data', folder]
    // the error of a line is printed after the first commit
    const { code, out, err } = await eventpost(words, { stopAt: { text: 'line 52: email', signal: 'SIGINT' } })
    const [, imported] =
      /Stopped\. (\d+) people were imported\. To continue, import the same file again\./.exec(err) ?? []
    expect([code, out, Number(imported) > 0]).toEqual([130, '', true])
    expect(await lastImport()).toStartWith(`${imported} people into the app`)
  },
  MANY_MS,
)

test(
  'says and records how many people were imported before a fault',
  async () => {
    // read and committed in pieces
    const people = Array.from({ length: 400 }, (_, index) =>
      JSON.stringify({ email: `person${index}@example.com`, ignored: 'n'.repeat(3_000) }),
    )
    writeFileSync(at('half.ndjson'), Buffer.concat([Buffer.from(`${people.join('\n')}\n`), Buffer.of(0xff)]))
    const { code, err } = await run('import', at('half.ndjson'), '--app', begun.appId)
    const [, imported] = /Line 401 is not UTF-8 text\. .+ (\d+) people were imported before that\./.exec(err) ?? []
    expect([code, Number(imported) > 0]).toEqual([1, true])
    expect(await lastImport()).toStartWith(`${imported} people into the app`)
  },
  MANY_MS,
)
