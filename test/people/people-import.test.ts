import { beforeEach, describe, expect, test } from 'bun:test'
import { contactView } from '../../src/people/contacts.ts'
import { type ImportCounts, importPeople, readPeople } from '../../src/people/people-import.ts'
import { exportPeople, type ExportFormat } from '../../src/people/people-lists.ts'
import type { AppRow } from '../../src/store/types.ts'
import { createMessaging, messageOf } from '../messaging.ts'
import { CONTACTS, type TestServer, useSharedServer } from '../helper.ts'

const openServer = useSharedServer()
let server: TestServer
let [from, to]: AppRow[] = []
beforeEach(async () => {
  const { first: second } = await openServer()
  server = { ...(await openServer()), second }
  const { store } = server.parts()
  from = (await store.findAppByPublicId(server.first.appId)) ?? undefined
  to = (await store.findAppByPublicId(server.second.appId)) ?? undefined
})

const ANYONE = { search: null, tag: null, status: null, field: null, event: null, seen: null, email: null }

async function* inPieces(text: string, size = 37): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}

async function exported(app: AppRow | undefined, format: ExportFormat): Promise<string> {
  if (!app) throw new Error('there is no app')
  const pieces = exportPeople(server.parts(), app, { filter: ANYONE, sort: 'email', format })
  return (await Array.fromAsync(pieces)).join('')
}

async function put(
  text: string,
  { format = 'csv' as ExportFormat, isDryRun = false, app = to } = {},
): Promise<{ counts: ImportCounts; errors: string[]; ignored: string[] }> {
  if (!app) throw new Error('there is no app')
  const [errors, ignored]: string[][] = [[], []]
  const topics = (await server.parts().store.listTopics(app.id)).map(({ name }) => name)
  const counts = await importPeople(server.parts(), app, readPeople(inPieces(text), { format, app, topics }), {
    actor: 'cli',
    isDryRun,
    onError: (line, { field, message }) => void errors?.push(`${line} ${field} ${message}`.trim()),
    onIgnored: (names) => void ignored?.push(...names),
  })
  return { counts, errors: errors ?? [], ignored: ignored ?? [] }
}

const peopleOf = async (app: AppRow | undefined) => {
  if (!app) throw new Error('there is no app')
  const rows = await server
    .parts()
    .store.listContacts({ appId: app.id, tag: null, updatedAfter: null, before: null, limit: 100 })
  const own = rows.map((row) => contactView(row, app))
  return own
    .map(({ id: _, app: __, createdAt: ___, updatedAt: ____, ...person }) => person)
    .toSorted((a, b) => (a.email < b.email ? -1 : 1))
}

async function addTopics(app: AppRow | undefined, names: string[]): Promise<void> {
  if (!app) throw new Error('there is no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  for (const name of names) {
    expect(await server.parts().store.saveTopic({ ...by, id: null, name, description: null })).toEqual({ done: true })
  }
}

/** By email, of people who ended some. */
const endedOf = async (app: AppRow | undefined) => {
  const lines = (await exported(app, 'ndjson')).trim().split('\n')
  const people = lines.map((line) => JSON.parse(line) as { email: string; endedTopics: string[] })
  return Object.fromEntries(people.flatMap((one) => (one.endedTopics.length > 0 ? [[one.email, one.endedTopics]] : [])))
}

const choose = async (email: string, choice: { end?: string[]; resume?: string[]; actor?: string }, app = to) => {
  const { store, clock } = server.parts()
  const contactId = (await store.findContact(app?.id ?? 0, email))?.id ?? 0
  const whole = { end: [], resume: [], actor: null, ...choice }
  expect(await store.chooseTopics({ contactId, at: clock.now(), ...whole })).toEqual({ done: true })
}

const tagOf = (number: number): string => `tag, "${number}"`

/** People of every kind: with all values, with text that CSV must quote, and suppressed. */
async function fill(): Promise<void> {
  const { store, clock } = server.parts()
  const app = server.first.appId
  const add = (body: object) => server.call('POST', CONTACTS, { body: { app, ...body } })
  const tags = Array.from({ length: 120 }, (_, number) => tagOf(number))
  for (let at = 0; at < tags.length; at += 50) await add({ email: 'all@example.com', tags: tags.slice(at, at + 50) })
  const odd = {
    firstName: '=1+1',
    lastName: `'=a, "b"; c`,
    source: '-x',
    fields: { 'a.b': '=1\n"', n: -1, yes: false },
  }
  expect((await add({ email: 'odd+1@bücher.example', ...odd })).status).toBe(201)
  for (const reason of ['unsubscribed', 'bounced', 'complained'] as const) {
    await add({ email: `${reason}@example.com`, firstName: '  spaced  ' })
    await store.suppress({ appId: from?.id ?? 0, email: `${reason}@example.com`, reason, at: clock.now() })
  }
  await addTopics(from, TOPICS)
  await choose('all@example.com', { end: ['Tips', 'a; "b", c'] }, from)
  await choose('bounced@example.com', { end: ['News'] }, from)
}

const TOPICS = ['News', 'Tips', 'a; "b", c']
const ENDED = { 'all@example.com': ['a; "b", c', 'Tips'], 'bounced@example.com': ['News'] }

describe.each(['csv', 'ndjson'] as const)('an export as %s', (format) => {
  test('gives the same people in another app', async () => {
    await fill()
    await addTopics(to, TOPICS)
    const text = await exported(from, format)
    const { counts, errors, ignored } = await put(text, { format })
    expect([counts, errors, ignored]).toEqual([{ added: 5, updated: 0, failed: 0 }, [], []])
    expect(await peopleOf(to)).toEqual(await peopleOf(from))
    expect(await server.parts().store.findSuppressed(to?.id ?? 0, 'bounced@example.com')).toMatchObject({
      reason: 'bounced',
      cause: { by: 'import' },
    })
    expect([await endedOf(from), await endedOf(to)]).toEqual([ENDED, ENDED])
    const again = await put(text, { format })
    expect(again.counts).toEqual({ added: 0, updated: 5, failed: 0 })
    expect(await peopleOf(to)).toEqual(await peopleOf(from))
    expect(await endedOf(to)).toEqual(ENDED)
  })
})

test('a spreadsheet runs nothing of it', async () => {
  await fill()
  const cells = (await exported(from, 'csv'))
    .split('\r\n')
    .flatMap((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/))
  expect(cells.filter((cell) => /^"?[=+\-@]/.test(cell))).toEqual([])
})

test('commas and semicolons separate tags; an array keeps them', async () => {
  await put('email,tags\na@example.com,beta; vip\nb@example.com,"beta,vip"\nc@example.com,"[""a;b""]"\n')
  expect((await peopleOf(to)).map(({ tags }) => tags)).toEqual([['beta', 'vip'], ['beta', 'vip'], ['a;b']])
})

test('lines with errors are named, and the others are imported', async () => {
  const text = [
    'Email;firstname;plan;status;tags;fields',
    'a@example.com;Ada;pro;;vip, beta;"{""seats"":3}"',
    '',
    'nobody;Bob;;;;',
    'c@example.com;"two',
    'lines";;;;',
    'd@example.com;;;gone;;',
    'e@example.com;;;pending;;{broken',
    'f@example.com;;;pending;;',
  ].join('\n')
  const { counts, errors, ignored } = await put(text)
  expect(counts).toEqual({ added: 2, updated: 0, failed: 4 })
  expect(ignored).toEqual(['plan'])
  expect(errors.map((error) => error.split(' ').slice(0, 2).join(' '))).toEqual([
    '4 email',
    '5 firstName',
    '7 status',
    '8 fields',
  ])
  expect(await peopleOf(to)).toMatchObject([
    { email: 'a@example.com', firstName: 'Ada', tags: ['vip', 'beta'], fields: { seats: 3 }, status: 'subscribed' },
    { email: 'f@example.com', status: 'pending' },
  ])
})

test('of NDJSON, lines that are no objects are named', async () => {
  const text = `{"email":"a@example.com","firstName":null}\n[]\n\n{"email":\n{"email":"b@example.com","x":1}`
  const { counts, errors, ignored } = await put(text, { format: 'ndjson' })
  expect([counts, ignored]).toEqual([{ added: 2, updated: 0, failed: 2 }, ['x']])
  expect(errors).toEqual(['2  This line is not a JSON object.', '4  This line is not a JSON object.'])
})

test('a quote that is not closed ends the import with its line', async () => {
  const text = 'email,lastName\na@example.com,"A"\nb@example.com,"B\nc@example.com,"C"\nd@example.com,"D"\n'
  expect(put(text)).rejects.toThrow('Line 3 opens a quote that is not closed.')
  expect(put('email,lastName\na@example.com,"A\nb@example.com,B')).rejects.toThrow('Line 2 opens a quote')
})

test('a file without the column email is refused as a whole', async () => {
  expect(put('name,mail\nAda,a@example.com')).rejects.toThrow('one of them must be email')
})

test('a dry run counts and saves nothing', async () => {
  await server.call('POST', CONTACTS, {
    key: server.second.apiKey,
    body: { app: server.second.appId, email: 'a@example.com' },
  })
  const { counts } = await put('email\na@example.com\nb@example.com\nc', { isDryRun: true })
  expect(counts).toEqual({ added: 1, updated: 1, failed: 1 })
  expect(await peopleOf(to)).toHaveLength(1)
})

test('known people keep their source and status, but are suppressed if the file says so', async () => {
  const { store, clock } = server.parts()
  const body = { app: server.second.appId, email: 'a@example.com', source: 'form' }
  await server.call('POST', CONTACTS, { key: server.second.apiKey, body })
  await store.suppress({ appId: to?.id ?? 0, email: 'a@example.com', reason: 'unsubscribed', at: clock.now() })
  await put('email,source,status\na@example.com,import,subscribed')
  expect(await peopleOf(to)).toMatchObject([{ source: 'form', status: 'unsubscribed' }])
  await put('email,status\na@example.com,complained')
  expect(await peopleOf(to)).toMatchObject([{ source: 'form', status: 'complained' }])
})

describe('topics that people ended', () => {
  const add = (email: string) =>
    server.call('POST', CONTACTS, { key: server.second.apiKey, body: { app: server.second.appId, email } })
  const changesOf = async (email: string) => {
    const { store } = server.parts()
    const person = await store.findContact(to?.id ?? 0, email)
    return (await store.listContactChanges(person?.id ?? 0, null, 10)).map(({ actor, change }) => [
      actor,
      change.topics,
    ])
  }

  test('are named like tags, and are never started again', async () => {
    await addTopics(to, TOPICS)
    await add('a@example.com')
    await choose('a@example.com', { end: ['Tips'] })
    const text = 'email,endedTopics\na@example.com,\nb@example.com,News; Tips\nc@example.com,"[""Tips"",""Tips""]"\n'
    expect((await put(text)).counts).toEqual({ added: 2, updated: 1, failed: 0 })
    const ended = { 'a@example.com': ['Tips'], 'b@example.com': ['News', 'Tips'], 'c@example.com': ['Tips'] }
    expect(await endedOf(to)).toEqual(ended)
    const lines = ['{"email":"a@example.com","endedTopics":[]}', '{"email":"b@example.com","endedTopics":"News"}']
    expect((await put(lines.join('\n'), { format: 'ndjson' })).counts).toEqual({ added: 0, updated: 2, failed: 0 })
    expect(await endedOf(to)).toEqual(ended)
  })

  test('of an app without them are errors of their lines, also in a dry run', async () => {
    const text = 'email,endedTopics\na@example.com,Tips\nb@example.com,tips;News\nc@example.com,[5]\nd@example.com,'
    expect((await put(text)).errors).toEqual(
      [2, 3, 4].map((line) => `${line} endedTopics This app has no topics. Add them under Sender, Topics first.`),
    )
    await addTopics(to, ['News', 'Tips'])
    const { counts, errors } = await put(text, { isDryRun: true })
    expect(counts).toEqual({ added: 1, updated: 1, failed: 2 })
    expect(errors).toEqual([3, 4].map((line) => `${line} endedTopics Use this app's topics: News, Tips.`))
    expect((await peopleOf(to)).map(({ email }) => email)).toEqual(['d@example.com'])
    expect(await endedOf(to)).toEqual({})
    await put(text)
    expect(await endedOf(to)).toEqual({ 'a@example.com': ['Tips'] })
  })

  test('are ended before the person is added', async () => {
    await addTopics(to, TOPICS)
    const { store, ...parts } = server.parts()
    const atAdding: string[][] = []
    const watched = {
      ...store,
      addContact: async (write: Parameters<typeof store.addContact>[0]) => {
        atAdding.push((await store.listEndedTopics(write.appId, write.email)).map(({ topic }) => topic))
        return store.addContact(write)
      },
    }
    if (!to) throw new Error('there is no app')
    const lines = readPeople(inPieces('email,endedTopics\na@example.com,Tips\n'), {
      format: 'csv',
      app: to,
      topics: TOPICS,
    })
    const importing = { actor: 'cli', isDryRun: false, onError: () => {}, onIgnored: () => {} }
    await importPeople({ ...parts, store: watched }, to, lines, importing)
    expect(atAdding).toEqual([['Tips']])
  })

  test('are on the timeline once, and whoever ended them first stays the one who can take it back', async () => {
    await addTopics(to, TOPICS)
    await add('a@example.com')
    await choose('a@example.com', { end: ['News'], actor: 'mem_1' })
    await choose('a@example.com', { end: ['Tips'] })
    for (let time = 0; time < 2; time++)
      await put('email,endedTopics\na@example.com,"[""Tips"",""News"",""a; \\""b\\"", c""]"')
    const noted = (await changesOf('a@example.com')).filter(([, topics]) => topics !== null)
    expect(noted).toEqual([
      ['cli', [['a; "b", c'], []]],
      [null, [['Tips'], []]],
      ['mem_1', [['News'], []]],
    ])
    const ended = await server.parts().store.listEndedTopics(to?.id ?? 0, 'a@example.com')
    expect(ended.map(({ topic, actor }) => [topic, actor])).toEqual([
      ['News', 'mem_1'],
      ['Tips', null],
      ['a; "b", c', null],
    ])
  })

  test('cancel the waiting emails of known people', async () => {
    const messaging = await createMessaging(server)
    await messaging.put(messageOf({ name: 'About tips', topic: 'Tips', wait: { minutes: 5 } }))
    await messaging.put(messageOf({ name: 'About news', topic: 'News', wait: { minutes: 5 } }))
    await messaging.event()
    await put('email,endedTopics\nada@example.com,Tips', { app: from })
    const deliveries = await messaging.deliveries()
    expect(deliveries.map(({ state, reason }) => [state, reason]).toSorted()).toEqual([
      ['skipped', 'topic'],
      ['waiting', null],
    ])
  })

  test('of deleted topics are not exported, so that the file fits the app', async () => {
    await addTopics(to, TOPICS)
    await add('a@example.com')
    await choose('a@example.com', { end: ['News', 'Tips'] })
    const { store, clock } = server.parts()
    const topic = await store.findTopicByName(to?.id ?? 0, 'News')
    const by = { accountId: to?.accountId ?? '', appId: to?.id ?? 0, actor: 'test', at: clock.now() }
    expect(await store.deleteTopic({ ...by, id: topic?.id ?? 0 })).toEqual({ done: true })
    expect(await endedOf(to)).toEqual({ 'a@example.com': ['Tips'] })
    expect(await put(await exported(to, 'csv'))).toMatchObject({ counts: { updated: 1 }, errors: [] })
  })
})

test('starts no message, neither for new people nor for their tags', async () => {
  const messaging = await createMessaging(server)
  await messaging.put(messageOf({ name: 'New', trigger: { contact: 'created' } }))
  await messaging.put(messageOf({ name: 'Tagged', trigger: { tag: 'vip' } }))
  await put('email,tags\na@example.com,vip', { app: from })
  expect(await messaging.deliveries()).toEqual([])
  await server.call('POST', CONTACTS, { body: { app: server.first.appId, email: 'b@example.com', tags: ['vip'] } })
  expect(await messaging.deliveries()).toHaveLength(2)
})

test("stops at the plan's limit on new people, with the line", async () => {
  await server.setPlan({ newPeoplePerMonth: 1 }, server.second)
  expect(put('email\na@example.com\nb@example.com')).rejects.toThrow('Line 3: You reached the plan')
})

describe('commits', () => {
  const MANY = 200

  /** Each person takes `personMs`. `abortAfter`: pauses. */
  async function importSlowly(personMs: number, abortAfter = Infinity) {
    if (!to) throw new Error('there is no app')
    const { store, clock } = server.parts()
    let [elapsedMs, people] = [0, 0]
    const [sizes, pauses]: [number[], number[]] = [[], []]
    const stopping = new AbortController()
    const slow = {
      store: {
        ...store,
        addContact: (write: Parameters<typeof store.addContact>[0]) => {
          elapsedMs += personMs
          people += 1
          return store.addContact(write)
        },
      },
      clock: { ...clock, monotonicMs: () => elapsedMs },
    }
    const text = Array.from({ length: MANY }, (_, index) => `p${index}@example.com`).join('\n')
    const lines = readPeople(inPieces(`email\n${text}`), { format: 'csv', app: to, topics: [] })
    const counts = await importPeople(slow, to, lines, {
      actor: 'cli',
      isDryRun: false,
      onError: () => {},
      onIgnored: () => {},
      signal: stopping.signal,
      pause: async (ms) => {
        sizes.push(people)
        people = 0
        if (pauses.push(ms) === abortAfter) stopping.abort()
      },
    })
    return { sizes, pauses, counts }
  }

  test('get smaller while they take long, and leave a server time to write between them', async () => {
    const { sizes, pauses, counts } = await importSlowly(5)
    expect(sizes.slice(0, 4)).toEqual([32, 16, 8, 8])
    expect(pauses.slice(0, 4)).toEqual([80, 40, 25, 25])
    expect(counts.added).toBe(MANY)
  })

  test('get larger while they are fast', async () => {
    const { sizes, pauses } = await importSlowly(0)
    expect([sizes, pauses]).toEqual([
      [32, 64],
      [25, 25],
    ])
  })

  test('end when the import is stopped, and nobody is saved after that', async () => {
    const { counts } = await importSlowly(5, 2)
    expect(counts).toEqual({ added: 48, updated: 0, failed: 0 })
    expect((await peopleOf(to)).length).toBe(48)
  })
})
