import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
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
import { signEmail } from '../../src/accounts/identity.ts'
import { refused, wrongUse } from './refused.ts'
import { comesTrue } from '../waiting.ts'

const { folder, remove } = makeFolder()
let first: Begun
let second: Begun
let server: Running

beforeAll(async () => {
  first = await setUp(folder)
  const words = ['--email', 'second@example.com', '--app', 'Second']
  second = await eventpostJson<Begun>(['account', 'create', '--data', folder, ...words])
  server = await startServer({ data: folder })
}, MANY_MS)
afterAll(async () => {
  await server.stop('SIGKILL')
  remove()
})

const create = (...words: string[]) =>
  eventpostJson<{ appId: string; siteId: string }>(['app', 'create', '--data', folder, ...words])

/** Once the running server notices; writer-thread.test.ts measures how soon. */
async function statusOf(key: string, app: string, wanted: number): Promise<number> {
  let status = 0
  await comesTrue(async () => {
    status = (await call(server.url, key, 'GET', `/api/v1/events?app=${app}`)).status
    return status === wanted
  })
  return status
}

describe('app create', () => {
  test('names the account if there are several', async () => {
    const words = ['app', 'create', '--data', folder, '--name', 'Said', '--json']
    expect((await eventpost(words)).err).toMatch(
      new RegExp(`^eventpost: using the first account, .*${first.accountId}.*--account\\n$`),
    )
    expect((await eventpost([...words, '--account', second.accountId])).err).toBe('')
  })

  test('creates an app of the first account; its key works within a second', async () => {
    expect(await statusOf(first.apiKey, first.appId, 200)).toBe(200)
    const made = await create(
      '--name',
      'Shop',
      '--domain',
      'shop.example.com',
      '--home',
      'https://shop.example.com/start',
    )
    expect(made).toEqual({ appId: expect.stringMatching(/^app_/), siteId: expect.stringMatching(/^site_/) })
    expect(await statusOf(first.apiKey, made.appId, 200)).toBe(200)
    expect(await statusOf(second.apiKey, made.appId, 404)).toBe(404)
  })

  test('creates it for --account', async () => {
    const { appId } = await create('--name', 'Other', '--account', second.accountId)
    expect(await statusOf(second.apiKey, appId, 200)).toBe(200)
    expect(await statusOf(first.apiKey, appId, 404)).toBe(404)
  })

  test('sets options of the browser script', async () => {
    const words = ['--name', 'Shop', '--snippet-host', 'shop.example.com', '--snippet-host', 'Www.Example.com']
    const [set, plain] = [await create(...words, '--snippet-adds-people'), await create('--name', 'Plain')]
    const post = (siteId: string, origin: string) =>
      fetch(`${server.url}/c`, {
        method: 'POST',
        headers: { Origin: origin },
        body: JSON.stringify({
          v: 1,
          site: siteId,
          email: 'ada@example.com',
          signature: signEmail('ada@example.com', first.identitySecret),
          id: 'load.1',
          events: [{ type: 'page', path: '/start', age: 0 }],
        }),
      })
    const list = async (appId: string) =>
      (await call(server.url, first.apiKey, 'GET', `/api/v1/events?app=${appId}`)).body.data
    expect(await statusOf(first.apiKey, plain.appId, 200)).toBe(200)
    expect((await post(set.siteId, 'https://evil.example')).status).toBe(403)
    expect((await post(set.siteId, 'https://www.example.com')).status).toBe(202)
    expect((await post(plain.siteId, 'https://evil.example')).status).toBe(202)
    expect(await list(set.appId)).toMatchObject([{ type: 'page', path: '/start', email: 'ada@example.com' }])
    expect(await list(plain.appId)).toEqual([])
    const wrong = await eventpost(['app', 'create', '--data', folder, '--name', 'x', '--snippet-host', 'https://shop'])
    expect(wrong).toEqual(wrongUse('Enter your own hosts'))
  })

  test('refuses an unknown account and an invalid domain', async () => {
    const words = ['app', 'create', '--data', folder, '--name', 'Shop']
    expect(await eventpost([...words, '--account', 'acc_nobody'])).toEqual(refused('no account with this ID'))
    expect(await eventpost([...words, '--domain', 'https://shop'])).toEqual(wrongUse('your own domain'))
    expect(await eventpost([...words, '--home', 'ftp://shop.example.com'])).toEqual(wrongUse('home page'))
  })
})

describe('app list', () => {
  const list = (...words: string[]) =>
    eventpostJson<Record<string, unknown>[]>(['app', 'list', '--data', folder, ...words])

  test('lists the apps of the given account', async () => {
    const own = ['--account', second.accountId]
    const shop = await create('--name', 'Listed', '--domain', 'a.example.com', '--domain', 'b.example.com', ...own)
    const apps = await list(...own)
    expect(apps[0]).toEqual({
      appId: second.appId,
      siteId: second.siteId,
      name: 'Second',
      domains: [],
      home: null,
      createdAt: expect.stringMatching(/Z$/),
    })
    expect(apps.at(-1)).toMatchObject({
      ...shop,
      name: 'Listed',
      domains: ['a.example.com', 'b.example.com'],
      home: 'https://a.example.com',
    })
    expect((await list()).map(({ appId }) => appId)).toContain(first.appId)
    expect((await list()).map(({ appId }) => appId)).not.toContain(second.appId)
  })

  test('prints a table for people', async () => {
    const { code, out, err } = await eventpost(['app', 'list', '--data', folder, '--account', second.accountId])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^appId +siteId +name +domains +home +createdAt\n/)
    expect(out).toMatch(/^app_\w+ +site_\w+ +Second +- +- +\S+Z$/m)
    expect(out).toContain('a.example.com, b.example.com')
  })
})

describe('an app ID', () => {
  const words = () => ['app', 'set', second.appId, '--data', folder, '--timezone', 'Europe/Zurich']

  test('is found in any account', async () => {
    const set = await eventpostJson<object>(words())
    expect(set).toMatchObject({ appId: second.appId, timezone: 'Europe/Zurich' })
  })

  test('is looked up in --account', async () => {
    expect(await eventpost([...words(), '--account', first.accountId])).toEqual(
      refused('no app with this ID in this account.*app list'),
    )
  })
})
