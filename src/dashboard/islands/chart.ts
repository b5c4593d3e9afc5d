/// <reference lib="dom" />
import type uPlot from 'uplot'
import { gridOf, pickTicks } from './chart-axes.ts'

/** uPlot formats numbers in the browser's language at load time; `en-US@posix` is not a valid tag and throws. */
function mendLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-GB', configurable: true })
  }
}

mendLanguage()
const { default: Plot } = await import('uplot')

/** Minimum distance between labels, in pixels. */
const TICK_SPACE = 64

type Drawn = { labels: string[]; ticks: string[]; values: number[] }

/** Reads the values from the chart's table. */
function readTable(figure: HTMLElement): Drawn {
  const rows = [...figure.querySelectorAll<HTMLElement>('details tr')]
  return {
    labels: rows.map((row) => row.querySelector('th')?.textContent ?? ''),
    ticks: rows.map((row) => row.dataset.tick ?? row.querySelector('th')?.textContent ?? ''),
    values: rows.map((row) => Number(row.querySelector('data')?.value ?? 0)),
  }
}

/** Room for half of the last label, in pixels. */
const LABEL_ROOM = 24

/** Replaces the server-rendered chart, in the same space, and adds a tooltip. */
function drawChart(figure: HTMLElement): void {
  const plot = figure.querySelector<HTMLElement>('.plot')
  const output = figure.querySelector<HTMLElement>('[data-chart-value]')
  const drawn = readTable(figure)
  if (!plot || !output || drawn.values.length < 2) return
  let most = output.textContent
  const tell = (index: number | null | undefined): void => {
    const value = index === null || index === undefined ? undefined : drawn.values[index]
    output.textContent = value === undefined ? most : `${drawn.labels[index ?? 0]}: ${value.toLocaleString('en-GB')}`
  }
  const sizeOf = () => ({ width: plot.clientWidth, height: plot.clientHeight })
  plot.classList.add('drawn')
  const chart = new Plot({ ...optionsOf(figure, drawn, tell), ...sizeOf() }, toLines(drawn), plot)
  new ResizeObserver(() => chart.setSize(sizeOf())).observe(plot)
  figure.addEventListener('counts', () => {
    most = output.textContent
    chart.setData(toLines(Object.assign(drawn, readTable(figure))))
  })
  const redraw = (): void => chart.redraw(false)
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ['data-theme'] })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
}

/** The last interval is incomplete, so its line is dashed. */
function toLines({ values }: Drawn): uPlot.AlignedData {
  const isLast = (index: number): boolean => index === values.length - 1
  return [
    values.map((_, index) => index),
    values.map((value, index) => (isLast(index) ? null : value)),
    values.map((value, index) => (isLast(index) || isLast(index + 1) ? value : null)),
  ]
}

function optionsOf(
  figure: HTMLElement,
  drawn: Drawn,
  tell: (index?: number | null) => void,
): Omit<uPlot.Options, 'width' | 'height'> {
  // colours come from the server-rendered shapes, which follow the theme
  const colour = (part: string, property: 'fill' | 'stroke' | 'color') => (): string => {
    const element = figure.querySelector(part)
    return element ? getComputedStyle(element)[property] : ''
  }
  const line = { stroke: colour('.line', 'stroke'), width: 1.5, points: { show: false } }
  const quiet = {
    stroke: colour('.axis', 'color'),
    font: `12px ${getComputedStyle(figure).fontFamily}`,
    ticks: { show: false },
    gap: 8,
  }
  return {
    padding: [8, LABEL_ROOM, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 8 } },
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, gridOf(max).at(-1) ?? 1] } },
    series: [{}, { ...line, fill: colour('.area', 'fill') }, { ...line, dash: [3, 4] }],
    axes: [
      {
        ...quiet,
        size: 28,
        space: TICK_SPACE,
        grid: { show: false },
        incrs: [1, 2, 3, 4, 6, 7, 8, 12, 24],
        splits: (_, __, ___, ____, step) => pickTicks(drawn.ticks, step),
        values: (_, splits) => splits.map((index) => drawn.ticks[index] ?? ''),
      },
      {
        ...quiet,
        size: (_, values) => 16 + 7 * Math.max(0, ...(values ?? []).map((value) => value.length)),
        grid: { stroke: colour('.rule', 'stroke'), width: 1 },
        splits: (_, __, ___, max) => gridOf(max),
        values: (_, splits) => splits.map((value) => value.toLocaleString('en-GB')),
      },
    ],
    hooks: { setCursor: [({ cursor }) => tell(cursor.idx)] },
  }
}

for (const figure of document.querySelectorAll<HTMLElement>('.chart')) drawChart(figure)
