import { afterAll, beforeAll, expect, test } from 'bun:test'
import { HOSTILE_ESCAPES } from '../../fuzz/hostile.ts'
import { listRoutes } from '../../fuzz/pages.ts'
import { openWorld, type World } from '../../fuzz/world.ts'
import { isLong } from '../../long-form.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world?.close())

const MALFORMED = ['%', '%f', '%ff', '%FF%FE', '%c0%af', '%E0%A4%A', '%ed%a0%80', '%u0041', 'app_%ff']

let turn = 0
/** All, or a third of them: another one each time. */
const turnOf = (texts: readonly string[]): readonly string[] => {
  turn += 1
  return isLong ? texts : texts.filter((_, index) => (index + turn) % 3 === 0)
}

const visit = async (who: 'owner' | 'nobody', method: string, path: string): Promise<number> => {
  const init = method === 'POST' ? { method, body: new URLSearchParams({ email: 'ada@example.com' }) } : {}
  const response = await world.browse(who, path, init)
  await response.body?.cancel()
  return response.status
}

test('a badly encoded ID is unknown on every route', async () => {
  const withIds = listRoutes(world).filter(({ path }) => path.includes(':'))
  expect(withIds.length).toBeGreaterThan(50)
  const answers: string[] = []
  for (const { method, path } of withIds) {
    const names = path.match(/:\w+/g) ?? []
    for (const spoilt of names) {
      for (const text of turnOf(MALFORMED)) {
        const filled = path.replaceAll(/:\w+/g, (name) =>
          name === spoilt ? text : name === ':app' ? world.server.first.appId : 'none',
        )
        for (const who of ['owner', 'nobody'] as const) {
          const status = await visit(who, method, filled)
          if (status !== 404) answers.push(`${who} ${method} ${filled}: ${status}`)
        }
      }
    }
  }
  expect(answers).toEqual([])
})

test('a badly encoded query is no server error', async () => {
  const { appId } = world.server.first
  const answers: string[] = []
  for (const { method, path } of listRoutes(world)) {
    if (method === 'POST' || /feed|live/.test(path)) continue
    const filled = path.replace(':app', appId).replaceAll(/:\w+/g, 'none')
    for (const text of turnOf(HOSTILE_ESCAPES)) {
      const query = [
        'before',
        'after',
        'event',
        'range',
        'state',
        'message',
        'version',
        'token',
        'member',
        'next',
        text,
      ]
      const asked = `${filled}?${query.map((name) => `${name}=${text}`).join('&')}`.replaceAll('#', '%23')
      const status = await visit('owner', method, asked)
      if (status >= 500) answers.push(`${asked}: ${status}`)
    }
  }
  expect(answers).toEqual([])
})
