/** A short form of `bun run fuzz`. */
import { expect, test } from 'bun:test'
import { describeFault, fuzzPages, listRoutes } from './pages.ts'
import { EVERYBODY, openWorld } from './world.ts'

test('hostile requests to every page, as everybody, are answered', async () => {
  const { faults, requests, routes } = await fuzzPages({ seed: 1, requests: 900 })
  expect(faults.map(describeFault)).toEqual([])
  expect(requests).toBe(900)
  const world = await openWorld()
  const every = EVERYBODY.flatMap((who) => listRoutes(world).map(({ method, path }) => `${who} ${method} ${path}`))
  await world.close()
  expect(every.filter((route) => !routes.has(route))).toEqual([])
  expect(every.length).toBeGreaterThan(350)
}, 120_000)
