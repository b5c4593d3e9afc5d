import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Begun,
  call,
  eventpost,
  eventpostJson,
  makeFolder,
  prepareData,
  MANY_MS,
  type Running,
  startServer,
} from './process.ts'
import { refused } from './refused.ts'
import { comesTrue } from '../waiting.ts'

const { folder, remove } = makeFolder()
let begun: Begun
let server: Running

beforeAll(async () => {
  await prepareData(folder)
  begun = await eventpostJson<Begun>(['init', '--data', folder, '--email', 'owner@example.com', '--app', 'Demo'])
  server = await startServer({ data: folder })
}, MANY_MS)
afterAll(async () => {
  await server.stop('SIGKILL')
  remove()
})

const set = (...words: string[]) => eventpostJson<Record<string, unknown>>(['plan', 'set', '--data', folder, ...words])

let count = 0
const post = (email = `p${++count}@example.com`) =>
  call(server.url, begun.apiKey, 'POST', '/api/v1/events', { app: begun.appId, email, event: 'x', createContact: true })

const DEFAULTS = {
  newPeoplePerMonth: null,
  eventsPerHour: 6_000,
  addsPerHour: 600,
  updatesPerHour: 6_000,
  mcpCallsPerMinute: 1_200,
  snippetLimits: true,
}

describe('plan show', () => {
  test('prints the current limits as JSON and text', async () => {
    const { accountId } = begun
    const show = ['plan', 'show', '--data', folder]
    expect(await eventpostJson<object>(show)).toEqual({ accountId, ...DEFAULTS })
    await set('--events-per-hour', '70')
    expect(await eventpostJson<object>([...show, '--account', accountId])).toEqual({
      accountId,
      ...DEFAULTS,
      eventsPerHour: 70,
    })
    await set('--events-per-hour', 'default')
    const { out } = await eventpost(show)
    expect(out).toMatch(/^newPeoplePerMonth +unlimited$/m)
    expect(out).toMatch(/^eventsPerHour +6000$/m)
    expect(await eventpost([...show, '--account', 'acc_nobody'])).toEqual(refused('no account with this ID'))
  })
})

describe('plan set', () => {
  test('changes the given limits, prints all, and accepts words to reset them', async () => {
    const { accountId } = begun
    const words = [
      '--adds-per-hour',
      '5',
      '--updates-per-hour',
      '7',
      '--mcp-calls-per-minute',
      '9',
      '--snippet-limits',
      'off',
    ]
    const changed = { addsPerHour: 5, updatesPerHour: 7, mcpCallsPerMinute: 9, snippetLimits: false }
    expect(await set(...words)).toEqual({ accountId, ...DEFAULTS, ...changed })
    // as the help writes it
    const most = { ...DEFAULTS, ...changed, addsPerHour: 999_999_999 }
    expect(await set('--adds-per-hour', '999,999,999')).toEqual({ accountId, ...most })
    expect(await set('--adds-per-hour', 'default')).toEqual({ accountId, ...DEFAULTS, ...changed, addsPerHour: 600 })
    const lift = ['--events-per-hour', 'unlimited', '--mcp-calls-per-minute', 'unlimited']
    const lifted = { eventsPerHour: null, mcpCallsPerMinute: null }
    expect(await set(...lift)).toEqual({ accountId, ...DEFAULTS, ...changed, addsPerHour: 600, ...lifted })
    expect((await eventpost(['plan', 'show', '--data', folder])).out).toMatch(/^eventsPerHour +unlimited$/m)
    await set('--events-per-hour', 'default')
    const undo = ['--updates-per-hour', 'default', '--mcp-calls-per-minute', 'default', '--snippet-limits', 'on']
    expect(await set(...undo)).toEqual({ accountId, ...DEFAULTS })
    await set('--new-people-per-month', '5')
    expect(await set('--new-people-per-month', 'default')).toEqual({ accountId, ...DEFAULTS })
  })

  test('a lower event limit applies on a running server within a second', async () => {
    expect((await post()).headers.get('ratelimit-limit')).toBe('6000')
    await set('--events-per-hour', '3')
    expect(await comesTrue(async () => (await post()).status === 429)).toBe(true)
    expect((await post()).body).toMatchObject({ error: 'rate_limited', scope: 'key', limit: 3 })
    await set('--events-per-hour', 'unlimited')
    expect(await comesTrue(async () => (await post()).status === 202)).toBe(true)
    expect((await post()).headers.has('ratelimit-limit')).toBe(false)
    await set('--events-per-hour', 'default')
    expect(await comesTrue(async () => (await post()).headers.get('ratelimit-limit') === '6000')).toBe(true)
  })

  test('no new people: 403, while known ones still work', async () => {
    await post('known@example.com')
    await set('--new-people-per-month', '0')
    expect(await comesTrue(async () => (await post()).status === 403)).toBe(true)
    expect((await post()).body).toMatchObject({ error: 'plan_limit_reached' })
    expect((await post('known@example.com')).status).toBe(202)
    await set('--new-people-per-month', 'unlimited')
    expect(await comesTrue(async () => (await post()).status === 202)).toBe(true)
  })

  test('prints names and values for people; refuses an unknown account', async () => {
    const words = ['plan', 'set', '--data', folder, '--snippet-limits', 'on']
    const { code, out, err } = await eventpost([...words, '--account', begun.accountId])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^newPeoplePerMonth +unlimited$/m)
    expect(out).toMatch(/^snippetLimits +true$/m)
    expect(await eventpost([...words, '--account', 'acc_nobody'])).toEqual(refused('no account with this ID'))
  })
})
