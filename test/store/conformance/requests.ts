import { expect, test } from 'bun:test'
import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { MOST_COUNTED } from '../../../src/core/count.ts'
import { type NewRequest, NO_ACCOUNT, NO_APP, type RequestQuery } from '../../../src/store/requests.ts'
import { pickSettings } from '../../../src/store/apps.ts'
import { AT, DAY, done, type Fresh, newAccount } from '../samples.ts'

const request = (changes: Partial<NewRequest> = {}): NewRequest => ({
  pool: 'refused',
  accountId: 'acc_1',
  appId: 1,
  caller: 'key_1',
  at: AT,
  method: 'POST',
  path: '/api/v1/events',
  tool: null,
  status: 400,
  code: 'invalid_field',
  field: 'email',
  requestId: 'req_1',
  count: 1,
  ...changes,
})

const query = (changes: Partial<RequestQuery> = {}): RequestQuery => ({
  accountIds: ['acc_1'],
  kind: 'all',
  status: null,
  code: null,
  field: null,
  caller: null,
  appIds: null,
  since: null,
  until: null,
  before: null,
  after: 0,
  limit: 50,
  ...changes,
})

/** The log of requests. */
export function testRequests(store: Fresh): void {
  const idsOf = async (changes: Partial<RequestQuery>) =>
    (await store().listRequests(query(changes))).map(({ requestId }) => requestId)
  const add = (...requests: NewRequest[]) => store().addRequests(requests)

  test('each account sees its own, and those of nobody where they are asked for', async () => {
    await add(
      request({ requestId: 'a' }),
      request({ accountId: 'acc_2', requestId: 'theirs' }),
      request({ accountId: NO_ACCOUNT, pool: 'unkeyed', appId: null, caller: 'unknown_key', requestId: 'stranger' }),
      request({ pool: 'accepted', code: null, field: null, status: 202, requestId: 'b' }),
    )
    expect(await idsOf({})).toEqual(['b', 'a'])
    expect(await idsOf({ accountIds: ['acc_1', NO_ACCOUNT] })).toEqual(['b', 'stranger', 'a'])
    expect(await idsOf({ accountIds: ['acc_2'] })).toEqual(['theirs'])
    const [found] = await store().findRequests(['acc_1'], 'a')
    const { pool: _, ...row } = request({ requestId: 'a' })
    expect(found).toEqual({ ...row, id: expect.any(Number) })
    expect(await store().findRequests(['acc_1'], 'theirs')).toEqual([])
    expect(await store().findRequests(['acc_1'], 'stranger')).toEqual([])
    expect(await store().findRequests(['acc_1', NO_ACCOUNT], 'stranger')).toHaveLength(1)
  })

  test('filters narrow the list and its count', async () => {
    const accountIds = ['acc_f']
    const one = (changes: Partial<NewRequest>) => request({ accountId: 'acc_f', ...changes })
    await add(
      one({ requestId: 'field' }),
      one({ requestId: 'key', caller: 'key_2', status: 429, code: 'rate_limited', field: null, count: 7 }),
      one({ requestId: 'app', appId: 2, at: AT + 1 }),
      one({ requestId: 'no app', appId: null, status: 400, code: 'invalid_json', field: null, at: AT + 2 }),
      one({ requestId: 'accepted', pool: 'accepted', status: 202, code: null, field: null, at: AT + 3 }),
    )
    const filters: [Partial<RequestQuery>, string[]][] = [
      [{ kind: 'refused' }, ['no app', 'app', 'key', 'field']],
      [{ kind: 'accepted' }, ['accepted']],
      [{ status: 429 }, ['key']],
      [{ status: 202 }, ['accepted']],
      [{ code: 'invalid_field' }, ['app', 'field']],
      [{ caller: 'key_2' }, ['key']],
      [{ appIds: [2] }, ['app']],
      [{ appIds: [NO_APP] }, ['no app']],
      [{ appIds: [2, NO_APP] }, ['no app', 'app']],
      [{ field: 'email' }, ['app', 'field']],
      [{ kind: 'accepted', field: 'email' }, []],
      [{ since: AT + 1, until: AT + 3 }, ['no app', 'app']],
      [{ kind: 'accepted', code: 'invalid_field' }, []],
      [{ code: 'invalid_field', appIds: [1], caller: 'key_1', status: 400 }, ['field']],
    ]
    for (const [changes, expected] of filters) {
      expect([changes, await idsOf({ accountIds, ...changes })]).toEqual([changes, expected])
      const repeated = expected.includes('key') ? 6 : 0
      const count = await store().countRequests(query({ accountIds, ...changes }))
      expect([changes, count]).toEqual([changes, expected.length + repeated])
    }
  })

  test('pages go on from the last row, and new rows after the first', async () => {
    const accountIds = ['acc_p', 'acc_q']
    await add(
      ...Array.from({ length: 7 }, (_, index) =>
        request({
          accountId: index % 2 ? 'acc_p' : 'acc_q',
          requestId: String(index),
          ...(index % 3 ? {} : { code: null, pool: 'accepted' }),
        }),
      ),
    )
    const first = await store().listRequests(query({ accountIds, limit: 3 }))
    expect(first.map(({ requestId }) => requestId)).toEqual(['6', '5', '4'])
    const last = first.at(-1)?.id ?? 0
    expect(await idsOf({ accountIds, before: last })).toEqual(['3', '2', '1', '0'])
    expect(await idsOf({ accountIds, after: last })).toEqual(['6', '5'])
  })

  test('a summary has the last of each refusal of an app and of no app', async () => {
    const one = (changes: Partial<NewRequest>) => request({ accountId: 'acc_s', ...changes })
    await add(
      one({ at: AT - DAY, field: 'old' }),
      one({ at: AT, count: 3 }),
      one({ code: 'invalid_json', field: null, appId: null, at: AT + 1 }),
      one({ at: AT + 2 }),
      one({ appId: 2, code: 'app_not_found' }),
      one({ pool: 'accepted', code: null }),
    )
    expect(await store().summarizeRefusals({ accountIds: ['acc_s'], appId: 1, since: AT })).toMatchObject({
      groups: [
        { code: 'invalid_field', field: 'email', appId: 1, status: 400, count: 4, lastAt: AT + 2 },
        { code: 'invalid_json', field: null, appId: null, count: 1, lastAt: AT + 1 },
      ],
      isCut: false,
    })
  })

  test('a summary counts as the list does, and says when it stops', async () => {
    const accountIds = ['acc_m']
    const addMany = (length: number) =>
      add(
        ...Array.from({ length }, (_, index) => request({ accountId: 'acc_m', field: index % 2 ? 'email' : 'event' })),
      )
    const summarize = async () => {
      const { groups, isCut } = await store().summarizeRefusals({ accountIds, appId: 1, since: 0 })
      return { count: groups.reduce((sum, { count }) => sum + count, 0), isCut }
    }
    for (let part = 0; part < 10; part++) await addMany(1_000)
    expect(await summarize()).toEqual({ count: 10_000, isCut: false })
    expect(await store().countRequests(query({ accountIds, appIds: [1, NO_APP] }))).toBe(10_000)
    await addMany(1)
    expect((await summarize()).isCut).toBe(true)
    expect(await store().countRequests(query({ accountIds, appIds: [1, NO_APP] }))).toBeNull()
  })

  test('strangers push out nothing of keys, and one caller nothing of another', async () => {
    const accountIds = ['acc_k', NO_ACCOUNT]
    const stranger = (requestId: string, caller = 'unknown_key') =>
      request({ accountId: NO_ACCOUNT, pool: 'unkeyed', appId: null, caller, requestId })
    await add(
      request({ accountId: 'acc_k', requestId: 'of a key' }),
      stranger('without a key', 'no_key'),
      stranger('the first of many'),
    )
    for (let part = 0; part < 11; part++)
      await add(...Array.from({ length: 1_000 }, (_, index) => stranger(`${part}.${index}`)))
    expect(await store().countRequests(query({ accountIds: [NO_ACCOUNT] }))).toBe(10_000)
    expect(await store().findRequests(accountIds, 'of a key')).toHaveLength(1)
    expect(await store().findRequests(accountIds, 'without a key')).toHaveLength(1)
    expect(await store().findRequests(accountIds, 'the first of many')).toEqual([])
    expect(await store().findRequests(accountIds, '10.999')).toHaveLength(1)
    await add(stranger('one more'), request({ accountId: 'acc_k', requestId: 'more' }))
    expect(await store().countRequests(query({ accountIds: [NO_ACCOUNT] }))).toBe(10_000)
    expect(await store().countRequests(query({ accountIds, kind: 'refused' }))).toBeNull()
    expect(MOST_COUNTED).toBe(10_000)
  })

  test('rows stay for 7 days, also across restarts', async () => {
    const accountIds = ['acc_old']
    const clean = async (at: number) => {
      while (((await store().cleanUp({ at })) as { deleted: number }).deleted > 0);
      return idsOf({ accountIds })
    }
    await add(
      request({ accountId: 'acc_old', requestId: 'old' }),
      request({ accountId: 'acc_old', requestId: 'new', at: AT + 5 }),
    )
    await store.reopen()
    expect(await clean(AT + 7 * DAY - 1)).toEqual(['new', 'old'])
    expect(await clean(AT + 7 * DAY)).toEqual(['new'])
    // what was deleted no longer counts
    const more = Array.from({ length: 10_000 }, (_, index) =>
      request({
        accountId: NO_ACCOUNT,
        pool: 'unkeyed',
        appId: null,
        caller: 'no_key',
        requestId: `n${index}`,
        at: AT + 8 * DAY,
      }),
    )
    await add(...more)
    expect(await store().countRequests(query({ accountIds: [NO_ACCOUNT] }))).toBe(10_000)
  })

  test('rows stay as many days as their app sets, and those of no app 7', async () => {
    const base = AT + 100 * DAY
    for (const number of [1, 2]) done(await store().createAccount(newAccount(number)))
    const setDays = async (requestDays: number | null) => {
      const app = await store().findApp(1)
      if (app === null) throw new Error('there is no app')
      const settings = pickSettings(app, { hosts: [], addsPeople: false }, { ...DEFAULT_RETENTION, requestDays })
      done(await store().updateApp({ accountId: app.accountId, actor: 'test', at: base, appId: 1, settings }))
    }
    const accountIds = ['acc_days']
    /** A pass: until nothing is deleted and it begins again. */
    const clean = async (days: number) => {
      for (let idle = 0; idle < 10;) {
        const { deleted } = done(await store().cleanUp({ at: base + days * DAY }))
        idle = deleted === 0 ? idle + 1 : 0
      }
      return (await idsOf({ accountIds })).toSorted()
    }
    await clean(0)
    await setDays(30)
    const of = (requestId: string, appId: number | null) =>
      request({ accountId: 'acc_days', requestId, appId, at: base })
    await add(of('own', 1), of('other', 2), of('none', null))
    // more than one run looks at
    const many = Array.from({ length: 6_000 }, (_, index) => request({ requestId: `m${index}`, at: base }))
    for (let i = 0; i < many.length; i += 1_000) await add(...many.slice(i, i + 1_000))
    await add(of('last', 2))
    expect(await clean(7 - 0.001)).toEqual(['last', 'none', 'other', 'own'])
    expect(await clean(7)).toEqual(['own'])
    expect(await clean(29)).toEqual(['own'])
    await setDays(2)
    expect(await clean(3)).toEqual([])
    await add(of('own', 1), of('other', 2))
    expect(await clean(2)).toEqual(['other'])
    await setDays(null)
    await add(of('again', 1))
    expect(await clean(6)).toEqual(['again', 'other'])
  })

  test('writing an empty list works', async () => {
    expect(await add()).toEqual({ done: true })
  })
}
