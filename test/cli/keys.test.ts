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
import { refused } from './refused.ts'
import { comesTrue } from '../waiting.ts'

type Listed = Record<'keyId' | 'name' | 'ending' | 'scope', string> &
  Record<'createdAt' | 'lastUsedAt' | 'revokedAt', string | null>
type Made = { keyId: string; apiKey: string }

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

const key = <T>(...words: string[]): Promise<T> => eventpostJson<T>(['key', ...words, '--data', folder])
const listed = async (keyId: string): Promise<Listed | undefined> =>
  (await key<Listed[]>('list')).find((row) => row.keyId === keyId)

const ask = (apiKey: string) => call(server.url, apiKey, 'GET', `/api/v1/events?app=${first.appId}`)

/** Once the running server notices; writer-thread.test.ts measures how soon. */
async function statusOf(apiKey: string, wanted: number): Promise<number> {
  let status = 0
  await comesTrue(async () => {
    status = (await ask(apiKey)).status
    return status === wanted
  })
  return status
}

describe('key create', () => {
  test('shows a key once, which works on a running server within a second', async () => {
    const made = await key<Made>('create', '--name', 'CI')
    expect(made).toEqual({
      keyId: expect.stringMatching(/^key_[0-9a-z]{21}$/),
      apiKey: expect.stringMatching(/^mc_[0-9A-Za-z]{36}$/),
    })
    expect(await statusOf(made.apiKey, 200)).toBe(200)
    expect(JSON.stringify(await key('list'))).not.toContain(made.apiKey)
  })

  test('names may repeat', async () => {
    const [one, other] = [await key<Made>('create', '--name', 'Twin'), await key<Made>('create', '--name', 'Twin')]
    expect(one.keyId).not.toBe(other.keyId)
  })

  test('a write-only key cannot read', async () => {
    const { keyId, apiKey } = await key<Made>('create', '--name', 'Writer', '--scope', 'ingest')
    expect(await listed(keyId)).toMatchObject({ name: 'Writer', scope: 'ingest' })
    expect(await ask(apiKey)).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
  })

  test('belongs to --account', async () => {
    const { keyId, apiKey } = await key<Made>('create', '--name', 'Theirs', '--account', second.accountId)
    expect(await ask(apiKey)).toMatchObject({ status: 404, body: { error: 'app_not_found' } })
    expect(await listed(keyId)).toBeUndefined()
    expect(await eventpost(['key', 'create', '--data', folder, '--name', 'N', '--account', 'acc_nobody'])).toEqual(
      refused('no account with this ID'),
    )
  })
})

describe('key list', () => {
  test('lists the keys of an account, newest first, as JSON and as a table', async () => {
    const keys = await key<Listed[]>('list', '--account', second.accountId)
    expect(keys.at(-1)).toEqual({
      keyId: expect.stringMatching(/^key_/),
      name: 'First key',
      ending: second.apiKey.slice(-4),
      scope: 'standard',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      lastUsedAt: null,
      revokedAt: null,
      seenInBrowserAt: null,
    } as Listed)
    const { code, out, err } = await eventpost(['key', 'list', '--data', folder, '--account', second.accountId])
    expect([code, err]).toEqual([0, ''])
    const [head, ...rows] = out.trimEnd().split('\n')
    expect(head).toMatch(/^keyId +name +ending +scope +createdAt +lastUsedAt +revokedAt +seenInBrowserAt$/)
    expect(rows).toHaveLength(keys.length)
  })
})

describe('key revoke', () => {
  test('a running server refuses the key within a second', async () => {
    const { keyId, apiKey } = await key<Made>('create', '--name', 'Leaked')
    expect(await statusOf(apiKey, 200)).toBe(200)
    const revoked = { keyId, revoked: true, revokedAt: expect.stringMatching(/Z$/), wasRevokedBefore: false }
    expect(await key<object>('revoke', keyId)).toEqual(revoked)
    expect(await statusOf(apiKey, 401)).toBe(401)
    expect((await ask(apiKey)).body).toMatchObject({ error: 'invalid_api_key', message: 'Invalid API key' })
    expect((await listed(keyId))?.revokedAt).toMatch(/Z$/)
    expect((await ask(first.apiKey)).status).toBe(200)
  })

  test('a second time changes nothing, and says so', async () => {
    const { keyId } = await key<Made>('create', '--name', 'Twice')
    await key('revoke', keyId)
    const before = await listed(keyId)
    const { revokedAt = null } = before ?? {}
    expect(await key<object>('revoke', keyId)).toEqual({ keyId, revoked: true, revokedAt, wasRevokedBefore: true })
    expect(await listed(keyId)).toEqual(before)
  })

  test('finds a key of any account, or only of --account', async () => {
    const { keyId } = await key<Made>('create', '--name', 'Theirs', '--account', second.accountId)
    const words = ['key', 'revoke', keyId, '--data', folder]
    expect(await eventpost([...words, '--account', first.accountId])).toEqual(
      refused('no key with this ID in this account.*key list'),
    )
    expect(await key<object>('revoke', keyId)).toMatchObject({ revoked: true, wasRevokedBefore: false })
    const keys = await key<Listed[]>('list', '--account', second.accountId)
    expect(keys.find((one) => one.keyId === keyId)?.revokedAt).toMatch(/Z$/)
  })

  test('refuses a key that does not exist', async () => {
    expect(await eventpost(['key', 'revoke', 'key_nothing', '--data', folder])).toEqual(
      refused('no key with this ID.*key list'),
    )
  })
})

describe('secret rotate', () => {
  test('--help says how long the previous secret works, and where to revoke it', async () => {
    const { out } = await eventpost(['secret', 'rotate', '--help'])
    expect(out).toContain('the previous one works for 24 hours, or until it is revoked on the API keys page')
  })

  test('prints the new secret and the expiry of the previous one: 24 hours', async () => {
    const from = Date.now()
    const made = await eventpostJson<{ identitySecret: string; previousValidUntil: string }>([
      'secret',
      'rotate',
      '--data',
      folder,
    ])
    expect(made).toEqual({ identitySecret: expect.stringMatching(/^\S{32,}$/), previousValidUntil: expect.any(String) })
    expect(made.identitySecret).not.toBe(first.identitySecret)
    const validMs = Date.parse(made.previousValidUntil) - 24 * 3_600_000
    expect(validMs).toBeWithin(from, Date.now() + 1)
  })
})
