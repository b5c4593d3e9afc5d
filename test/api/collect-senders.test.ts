/** POST /c: for whom a site may speak, which pages may send, and who is added. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../src/accounts/accounts.ts'
import { signEmail } from '../../src/accounts/identity.ts'
import { useClosing } from '../closing.ts'
import { type Answer, DAY, type Options, type TestServer } from '../helper.ts'
import { codeOf, no } from './expected.ts'
import {
  appOf,
  expectNo,
  expectNothingSaved,
  expectOpen,
  listEvents,
  openWithAda,
  report,
  saveSnippet,
  send,
  useSharedWithAda,
} from './reports.ts'

let server: TestServer
beforeAll(async () => {
  server = await openWithAda()
  await server.setPlan({ snippetLimits: false })
})
afterAll(() => server.close())

const keep = useClosing()
const openShared = useSharedWithAda()
const open = async (options?: Options): Promise<TestServer> => keep(await openWithAda(options))

const post = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  send(server, report(server.first, more), { headers })

const WRONG = '`signature` was made for a different email or with a different secret. '
const SIGNED =
  'Compute it on your server: the HMAC-SHA256 of the trimmed, lowercased email, in lowercase hexadecimal, with the identity secret of your account as the key.'

describe('401 Invalid signature', () => {
  const right = () => signEmail('ada@example.com', server.first.identitySecret)
  const uppercase = 'Invalid signature: send it in lowercase hexadecimal.'
  const malformed = '`signature` is not 64 hexadecimal characters. '
  test.each<[string, () => string, { message?: string; fault?: string }]>([
    ['of another person', () => signEmail('eve@example.com', server.first.identitySecret), { fault: WRONG }],
    ["of another account's secret", () => signEmail('ada@example.com', server.second.identitySecret), { fault: WRONG }],
    ['the API key', () => server.first.apiKey, { fault: malformed }],
    ['cut', () => right().slice(1), { fault: malformed }],
    ['in uppercase', () => right().toUpperCase(), { message: uppercase }],
  ])('%s', async (_name, signature, { fault = '', ...more }) => {
    await expectNothingSaved(server, async () => {
      const answer = await post({ signature: signature() })
      expectNo(answer, 401, no('invalid_signature', { ...more, hint: fault + SIGNED }))
      expect(answer.headers.get('www-authenticate')).toBeNull()
    })
  })

  test('is the same for known and unknown people', async () => {
    const signature = '0'.repeat(64)
    const [known, nobody] = [await post({ signature }), await post({ signature, email: 'nobody@example.com' })]
    const plain = ({ text, body }: Answer) => text.replace(String(body.requestId), '')
    expect(plain(known)).toBe(plain(nobody))
    expect([...known.headers.keys()]).toEqual([...nobody.headers.keys()])
  })

  test('a rotated secret works for 24 hours, to the millisecond', async () => {
    const one = await open()
    const maker = { store: one.parts().store, now: one.clock.now(), actor: 'test' }
    const rotated = await rotateIdentitySecret(maker, one.first.accountId)
    one.parts().access.forget()
    const fresh = 'identitySecret' in rotated ? rotated.identitySecret : ''
    const old = () => send(one, report(one.first))
    const current = () => send(one, report(one.first, { signature: signEmail('ada@example.com', fresh) }))
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['202 true', '202 true'])
    one.clock.tick(DAY - 1)
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['202 true', '202 true'])
    one.clock.tick(1)
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['401 invalid_signature', '202 true'])
    await one.restart()
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['401 invalid_signature', '202 true'])
    expect(await listEvents(one)).toHaveLength(6)
  })

  test('a clock set forward does not shorten these 24 hours', async () => {
    const one = await openShared()
    const maker = { store: one.parts().store, now: one.clock.now(), actor: 'test' }
    await rotateIdentitySecret(maker, one.first.accountId)
    one.clock.wallMs += DAY
    one.parts().access.forget()
    expect(codeOf(await send(one, report(one.first)))).toBe('202 true')
  })
})

describe('404', () => {
  test.each(['site_', 'site_0mp6v7uo0zzzzzzzzzzzz', 'x', 'APP'])('the site %s', async (site) => {
    const named = site === 'APP' ? server.first.appId : site
    await expectNothingSaved(server, async () => expectNo(await post({ site: named }), 404, no('site_not_found')))
  })

  test('an unknown site is looked up once until a change, and evicts no known one', async () => {
    const asked: string[] = []
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        findSite: (siteId, retiredAfter) => (asked.push(siteId), store.findSite(siteId, retiredAfter)),
      }),
    })
    await one.setPlan({ snippetLimits: false })
    const post = (site: string) => send(one, report(one.first, { site }), { address: `10.0.0.${asked.length % 250}` })
    const { siteId } = one.first
    for (const site of [siteId, 'site_none', 'site_none', siteId, 'site_none']) await post(site)
    expect(asked).toEqual([siteId, 'site_none'])
    for (let i = 0; i < 1_000; i += 1) expect((await post(`site_${i}`)).status).toBe(404)
    await post(siteId)
    expect(asked).toHaveLength(1_002)
    await post('site_none')
    expect(asked).toHaveLength(1_003)
    one.parts().access.forget()
    await post('site_999')
    expect(asked).toHaveLength(1_004)
    expect((await post(`site_${'x'.repeat(60)}`)).status).toBe(404)
    expect(asked).toHaveLength(1_004)
  })

  test('a site of another account knows neither the people nor the secret', async () => {
    const asSecond = report(server.second)
    expectNo(
      await send(server, { ...asSecond, signature: report(server.first).signature }),
      401,
      no('invalid_signature', { hint: WRONG + SIGNED }),
    )
    expect(codeOf(await send(server, asSecond))).toBe('202 true')
    expect(await listEvents(server, server.second)).toEqual([])
  })
})

describe('the hosts of a site', () => {
  test.each<[string | null, string]>([
    ['https://app.first.example', '202 true'],
    ['http://app.first.example:3000', '202 true'],
    ['https://deep.app.first.example', '202 true'],
    [null, '202 true'],
    ['https://first.example', '403 origin_not_allowed'],
    ['https://evilapp.first.example', '403 origin_not_allowed'],
    ['https://app.first.example.evil.example', '403 origin_not_allowed'],
    ['null', '403 origin_not_allowed'],
    ['nonsense', '403 origin_not_allowed'],
  ])('Origin %s: %s', async (origin, expected) => {
    const one = await openShared()
    await saveSnippet(one.parts(), await appOf(one), { hosts: ['app.first.example'], addsPeople: false })
    const answer = await one.call('POST', '/c', {
      body: report(one.first),
      key: null,
      headers: origin === null ? {} : { Origin: origin },
    })
    expect(codeOf(answer)).toBe(expected)
    expectOpen(answer)
    expect(await listEvents(one)).toHaveLength(expected.startsWith('202') ? 1 : 0)
    expect(codeOf(await send(one, report(one.second)))).toBe('202 true')
  })
})

describe('adding people', () => {
  test('is off until an owner turns it on, and then counts in the plan', async () => {
    const one = await openShared()
    const app = await appOf(one)
    const post = (email: string) => send(one, report(one.first, { email }))
    await post('new@example.com')
    expect(await listEvents(one)).toEqual([])
    await saveSnippet(one.parts(), app, { hosts: [], addsPeople: true })
    expect(await one.parts().store.snippetSettings(app.id)).toEqual({ hosts: [], addsPeople: true })
    await one.setPlan({ newPeoplePerMonth: 2 })
    expect(codeOf(await post('new@example.com'))).toBe('202 true')
    expectNo(await post('third@example.com'), 403, no('plan_limit_reached'))
    expect(codeOf(await post('new@example.com'))).toBe('202 true')
    expect((await listEvents(one)).map(({ email }) => email)).toEqual(['new@example.com', 'new@example.com'])
    await saveSnippet(one.parts(), app, { hosts: [], addsPeople: false })
    expect(codeOf(await post('fourth@example.com'))).toBe('202 true')
    expect(await listEvents(one)).toHaveLength(2)
  })
})
