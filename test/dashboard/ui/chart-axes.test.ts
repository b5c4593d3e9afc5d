import { expect, test } from 'bun:test'
import { gridOf, pickTicks } from '../../../src/dashboard/ui/chart.tsx'

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [4, [0, 1, 2, 3, 4]],
  [5, [0, 2, 4, 6]],
  [15, [0, 5, 10, 15]],
  [18, [0, 5, 10, 15, 20]],
  [21, [0, 10, 20, 30]],
  [1_000, [0, 500, 1_000]],
  [1_001, [0, 500, 1_000, 1_500]],
])('the grid for up to %d ends at or above it', (most, grid) => {
  expect(gridOf(most)).toEqual(grid)
  expect(gridOf(grid.at(-1) ?? 0)).toEqual(grid)
})

test('labels reach the last hours, and name the day', () => {
  const ticks = Array.from({ length: 48 }, (_, index) => {
    const hour = (index + 20) % 24
    return hour === 0 ? '25 Nov' : `${hour}:00`
  })
  expect(
    pickTicks(ticks, 3)
      .slice(-3)
      .map((index) => ticks[index]),
  ).toEqual(['12:00', '15:00', '18:00'])
  expect(pickTicks(ticks, 6).map((index) => ticks[index])).toContain('25 Nov')
})
