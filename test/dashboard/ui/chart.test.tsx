import { describe, expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { AreaChart } from '../../../src/dashboard/ui/chart.tsx'
import { textOf } from '../pages.ts'

const lineOf = (html: string): string | undefined => /class="line last" d="([^"]*)"/.exec(html)?.[1]

describe('the line of a chart', () => {
  test.each([
    ['rises from the foot to the top', [0, 10], 'M0.0,160.0L640.0,0.0'],
    ['stays at the foot where nothing happened', [0, 0], 'M0.0,160.0L640.0,160.0'],
    ['is dashed in the last interval only', [10, 0, 10], 'M320.0,160.0L640.0,0.0'],
    ['is level where there is one value', [7], 'M0.0,20.0H640'],
    ['is empty without any', [], undefined],
  ])('%s', (_, values, line) => {
    const points = values.map((value) => ({ label: '10:00', value }))
    expect(lineOf(render(<AreaChart label="Events" points={points} />))).toBe(line)
  })
})

test('a chart has its numbers as a table', async () => {
  const points = [
    { label: '10:00', value: 12_000 },
    { label: '11:00', value: 3 },
  ]
  const html = render(<AreaChart label="Events" points={points} />)
  expect([await textOf(html, 'th'), await textOf(html, 'td')]).toEqual([
    ['10:00', '11:00'],
    ['12,000', '3'],
  ])
  expect(await textOf(html, 'figcaption span')).toEqual(['Events', 'Peak: 12,000'])
  expect(await textOf(html, '.ticks text')).toEqual(['10:00', '11:00'])
})
