import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { checkSender } from '../../../src/accounts/sender-checks.ts'
import { fillTemplate, showValues } from '../../../src/messages/templates.ts'
import { describeEventName } from '../../../src/dashboard/events/event-labels.ts'
import { INHERITED } from '../../fuzz/hostile.ts'
import { openWorld, type World } from '../../fuzz/world.ts'
import { API, EVENTS } from '../../helper.ts'
import { callTool, rpc } from '../../mcp/client.ts'
import { attributesOf, textOf } from '../pages.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const see = async (path: string) => {
  const response = await world.browse('owner', `/apps/${world.server.first.appId}/${path}`)
  const html = await response.text()
  expect([path, response.status, html.includes('[native code]')]).toEqual([path, 200, false])
  return html
}

const post = async (path: string, fields: Record<string, string>): Promise<number> => {
  const body = new URLSearchParams(fields)
  return (await world.browse('owner', `/apps/${world.server.first.appId}/${path}`, { method: 'POST', body })).status
}

test('a lookup by text finds its own entries only', () => {
  expect(INHERITED.map(describeEventName)).toEqual(INHERITED)
})

test.each(INHERITED)('%s as the name of an event and an action', async (name) => {
  const html = await see(`events?event=${name}`)
  expect(new Set((await textOf(html, '.what')).map((text) => text.trim()))).toEqual(new Set([name]))
  for (const href of (await attributesOf(html, '.feed .what a, .feed a.what', 'href')).slice(0, 2)) {
    const page = await world.browse('owner', String(href))
    expect([page.status, (await textOf(await page.text(), 'h1'))[0]]).toEqual([200, name])
  }
  const { body } = await world.server.call('GET', `${EVENTS}?app=${world.server.first.appId}&event=${name}`)
  expect(body.data?.map(({ event }) => event)).toEqual([name, name])
})

test('pages of people with such names, tags, fields and properties', async () => {
  const list = await see('people')
  const [next] = await attributesOf(list, '.pager [rel=next]', 'href')
  const lists = list + (await (await world.browse('owner', String(next))).text())
  const people = (await attributesOf(lists, 'tbody a', 'href')).filter((href) => href?.includes('/people/con_'))
  expect(people.length).toBeGreaterThan(40)
  for (const href of people) expect([href, (await world.browse('owner', String(href))).status]).toEqual([href, 200])
  for (const name of INHERITED) {
    const { body } = await world.server.call('GET', `${API}/contacts?app=${world.server.first.appId}&tag=${name}`)
    expect(body.data?.map((contact) => [contact.tags, contact.fields])).toEqual([
      [[name], Object.fromEntries([[name, name]])],
    ])
  }
})

test.each(INHERITED)('%s in an address and in a form', async (name) => {
  for (const path of [`events?range=${name}`, `deliveries?state=${name}`, `deliveries?message=${name}`]) await see(path)
  for (const path of [`suppressions?before=${name}`, `keys?${name}=${name}`, `members?after=${name}`]) await see(path)
  expect(await post('members', { email: 'new@example.com', role: name })).toBe(400)
  expect(await post('keys', { name: 'A key', scope: name })).toBe(400)
  const editor = { name: 'A message', trigger: 'event', 'trigger.event': 'x', 'mail.subject': 'a', 'mail.body': 'b' }
  expect(await post('messages/new', { ...editor, do: `add onlyIf ${name}` })).toBe(200)
  expect(await post('messages/new', { ...editor, do: 'preview', 'onlyIf[0].rule': name })).toBe(200)
  expect(await post('messages/new', { ...editor, wait: name, again: name, [name]: name, do: 'preview' })).toBe(200)
  expect(await post('messages/new', { ...editor, 'onlyIf[0].rule': name, do: 'save' })).toBe(400)
  const unit = { wait: 'minutes', 'wait.minutes': '7', 'wait.unit': name }
  expect(await post('messages/new', { ...editor, ...unit, name: `After 7 ${name}`, do: 'save' })).toBe(303)
})

test('an unknown unit counts as minutes', async () => {
  const app = world.server.first.appId
  const { apiKey: key } = await world.server.makeKey('manage')
  const { data } = await callTool(world.server, 'list_messages', { app }, { key })
  const saved = data.data?.find(({ name }) => name === 'After 7 constructor')
  const message = await callTool(world.server, 'get_message', { app, messageId: saved?.id }, { key })
  expect(message.text).toContain('\\"minutes\\":7')
})

describe('over MCP', () => {
  test.each(INHERITED)('%s', async (name) => {
    const { server } = world
    const { apiKey: key } = await server.makeKey('manage')
    const how = { key }
    const app = server.first.appId
    for (const [method, params] of [
      ['prompts/get', { name }],
      ['prompts/get', { name: 'set_up_app', arguments: Object.fromEntries([[name, name]]) }],
      ['tools/call', { name }],
      ['resources/read', { uri: name }],
      ['resources/read', { uri: `eventpost://docs/${name}` }],
      [name, {}],
    ] as const) {
      const answer = await rpc(server, method, params, how)
      const { error } = answer.body as { error?: { code: number } }
      expect([method, answer.status < 500, error?.code === -32_603]).toEqual([method, true, false])
    }
    const asked = Object.fromEntries([
      ['app', app],
      [name, name],
    ])
    for (const tool of ['list_events', 'get_integration_code', 'get_stats', 'list_deliveries']) {
      const { status, isError, text } = await callTool(server, tool, asked, how)
      // the SDK drops an argument `__proto__` before it reaches a tool
      const isRefused = name !== '__proto__' || tool === 'get_integration_code'
      expect([tool, status, isError, text.includes('native code')]).toEqual([tool, 200, isRefused, false])
    }
    const code = await callTool(server, 'get_integration_code', { app, language: name }, how)
    expect([code.isError, code.text.includes('native code')]).toEqual([true, false])
  })
})

test.each(INHERITED)('%s in a template is a value where it was sent, and missing where not', (name) => {
  const fill = (properties: object) => fillTemplate(`{{ event.${name} }}`, { event: properties })
  expect(fill({})).toEqual({ missing: `event.${name}` })
  const filled = fill(Object.fromEntries([[name, 'sent']]))
  if (!('filled' in filled)) throw new Error('nothing was filled in')
  expect(showValues(filled.filled, { value: (value) => value, plain: (text) => text })).toBe('sent')
})

test.each(INHERITED)('%s as the policy of a DMARC record is none', async (name) => {
  const sender = {
    domain: 'mail.example.com',
    server: 'smtp.example.net',
    dkim: null,
    nextDkim: null,
    seen: null,
    hasOneClick: true,
  }
  const resolveTxt = async (asked: string) => (asked.startsWith('_dmarc.') ? [`v=DMARC1; p=${name}`] : [])
  const checks = await checkSender({ resolveTxt, resolveCname: async () => null }, sender)
  expect(checks.find(({ about }) => about === 'DMARC')).toMatchObject({ state: 'bad' })
})
