import { expect, test } from 'bun:test'
import { createPace, PER_SECOND } from '../../src/mail/dispatch.ts'

function start() {
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  return { clock, pace: createPace(clock) }
}

test('an app sends 100 at once, and 100 a second after that', () => {
  const { clock, pace } = start()
  expect(PER_SECOND).toBe(100)
  for (let mail = 0; mail < 100; mail++) pace.spend(1, null)
  expect(pace.listWaiting()).toEqual({ appIds: [1], waitMs: 10 })
  clock.ms += 10
  expect(pace.listWaiting()).toEqual({ appIds: [], waitMs: 0 })
  let sent = 0
  for (let ms = 0; ms < 10_000; ms++) {
    clock.ms += 1
    if (pace.listWaiting().appIds.length > 0) continue
    pace.spend(1, null)
    sent += 1
  }
  expect(sent).toBeWithin(990, 1_010)
})

test('what was overdrawn is waited for', () => {
  const { clock, pace } = start()
  for (let mail = 0; mail < 12; mail++) pace.spend(1, 2)
  expect(pace.listWaiting()).toEqual({ appIds: [1], waitMs: 5_500 })
  clock.ms += 5_500
  expect(pace.listWaiting().appIds).toEqual([])
})

test('a pace that was changed holds from the next email on', () => {
  const { clock, pace } = start()
  pace.spend(1, 100)
  pace.spend(1, 1)
  clock.ms += 60_000
  pace.spend(1, 1)
  expect(pace.listWaiting()).toEqual({ appIds: [1], waitMs: 1_000 })
})

test('apps do not wait for one another, and unused time is not saved up', () => {
  const { clock, pace } = start()
  for (let mail = 0; mail < 5; mail++) pace.spend(1, 5)
  pace.spend(2, 5)
  expect(pace.listWaiting().appIds).toEqual([1])
  clock.ms += 3_600_000
  for (let mail = 0; mail < 5; mail++) pace.spend(1, 5)
  expect(pace.listWaiting().appIds).toEqual([1])
})
