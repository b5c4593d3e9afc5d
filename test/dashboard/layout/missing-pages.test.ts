import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type Who, type World } from '../../fuzz/world.ts'
import { attributesOf, textOf } from '../pages.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const at = (path: string, appId = world.server.first.appId): string => `/apps/${appId}/${path}`

describe('an unknown page of an app keeps the sidebar and leads to', () => {
  test.each([
    ['zzz', 'Page not found', 'overview'],
    ['people/con_nope', 'Person not found', 'people'],
    ['people/con_nope/edit', 'Person not found', 'people'],
    ['people/con_nope/more/still', 'Page not found', 'people'],
    ['events/evt_nope', 'Event not found', 'events'],
    ['deliveries/dlv_nope', 'Delivery not found', 'deliveries'],
    ['messages/msg_nope', 'Message not found', 'messages'],
    ['messages/msg_nope/versions', 'Message not found', 'messages'],
    ['requests/req_nope', 'Request not found', 'requests'],
    ['members/mem_nope', 'Page not found', 'members'],
    ['settings/zzz', 'Page not found', 'settings'],
    ['outbox/zzz', 'Page not found', 'deliveries'],
    ['suppressions/zzz', 'Page not found', 'deliveries'],
    ['audit/zzz', 'Page not found', 'members'],
  ])('its list: %s', async (path, title, list) => {
    const response = await world.browse('owner', at(path))
    const html = await response.text()
    expect([response.status, await textOf(html, 'h1')]).toEqual([404, [title]])
    expect(await attributesOf(html, '#menu a[aria-current=page]', 'href')).toEqual(path === 'zzz' ? [] : [at(list)])
    expect(await attributesOf(html, 'main a', 'href')).toEqual([at(list)])
  })

  test('also for a role that may not open it', async () => {
    const response = await world.browse('viewer', at('members/new'))
    const html = await response.text()
    expect([response.status, await textOf(html, 'h1')]).toEqual([403, ["Your role doesn't allow this"]])
    expect(await attributesOf(html, 'main a', 'href')).toEqual([at('members')])
  })
})

const PATHS = `zzz people people/con_nope people/con_1/more/still deliveries deliveries/dlv_nope messages/new
  messages/msg_nope events/evt_nope settings settings/zzz sender/server people/con_1/export`.split(/\s+/)

/** All that an answer says, but for the number of the request. */
async function answerOf(who: Who, path: string, method: string): Promise<object> {
  const init = method === 'POST' ? { method, body: new URLSearchParams({ name: 'x' }) } : { method }
  const response = await world.browse(who, path, init)
  const headers = Object.fromEntries(response.headers)
  delete headers['x-request-id']
  const body = (await response.text()).replace(/"requestId":"req_\w+"/, '')
  return { status: response.status, body, headers }
}

describe('an app of another account answers byte for byte as one that does not exist', () => {
  const others = () => {
    const foreign = world.server.second.appId
    return { foreign, unused: foreign.replace(/.$/, (last) => (last === '2' ? '3' : '2')) }
  }

  test.each(['GET', 'POST'])('to a member of the first account, %s', async (method) => {
    const { foreign, unused } = others()
    for (const path of PATHS) {
      const answer = await answerOf('owner', at(path, foreign), method)
      expect(answer).toEqual(await answerOf('owner', at(path, unused), method))
      if (method === 'GET') expect([path, answer]).toMatchObject([path, { status: 404 }])
    }
  })

  test('to nobody, but for the address to return to', async () => {
    const { foreign, unused } = others()
    for (const path of PATHS) {
      for (const method of ['GET', 'POST']) {
        const [one, other] = [
          await answerOf('nobody', at(path, foreign), method),
          await answerOf('nobody', at(path, unused), method),
        ]
        expect(JSON.stringify(one).replaceAll(foreign, 'ID')).toBe(JSON.stringify(other).replaceAll(unused, 'ID'))
      }
    }
  })
})

test('the frame needs a session that may open the app', async () => {
  const html = await (await world.browse('nobody', at('zzz'))).text()
  expect(await attributesOf(html, '#menu', 'id')).toEqual([])
  expect(await attributesOf(html, 'main a', 'href')).toEqual(['/'])
})
