/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'

/** `tick`: short label below the chart. */
export type Point = { label: string; tick?: string; value: number }

const WIDTH = 640
const HEIGHT = 160
/** Space for the line's width. */
const EDGE = 2

type Box = { width: number; height: number; top: number; edge: number }

/** The position of each value in a box whose upper edge is `top`. */
const placeAll = (values: number[], { width, height, top, edge }: Box): [x: string, y: string][] =>
  values.map((value, index) => [
    ((index * width) / Math.max(1, values.length - 1)).toFixed(1),
    (edge + (1 - value / top) * (height - 2 * edge)).toFixed(1),
  ])

/** SVG path; a horizontal line for one value. */
function pathOf(places: [x: string, y: string][], width: number): string {
  const [[x, y] = ['0', '0'], ...others] = places
  return `M${x},${y}${others.length === 0 ? `H${width}` : others.map((place) => `L${place.join(',')}`).join('')}`
}

const SPARK_WIDTH = 120
const SPARK_HEIGHT = 32

/** A line without axes, with its extremes as text. */
export function Sparkline({ label, values }: { label: string; values: number[] }) {
  if (values.every((value) => value === 0)) return <span class="spark none">{'\u00a0'}</span>
  const box = { width: SPARK_WIDTH, height: SPARK_HEIGHT, top: Math.max(1, ...values), edge: EDGE }
  const line = pathOf(placeAll(values, box), SPARK_WIDTH)
  const says = `${label}: ${formatCount(Math.min(...values))} to ${formatCount(Math.max(...values))}, last ${formatCount(values.at(-1) ?? 0)}`
  return (
    <svg
      class="spark"
      role="img"
      aria-label={says}
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      preserveAspectRatio="none"
    >
      <path class="area" d={`${line}V${SPARK_HEIGHT}H0Z`} />
      <path class="line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  )
}

const MOST_INTERVALS = 4

/** Grid lines from 0 to the first one that is at or above the largest value. */
export function gridOf(most: number): number[] {
  const least = Math.max(1, most) / MOST_INTERVALS
  const power = 10 ** Math.floor(Math.log10(least))
  const step = Math.max(1, power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(1, most) / step) + 1 }, (_, index) => index * step)
}

/** Spaces labels evenly so that a day label is included. */
export function pickTicks(ticks: readonly string[], step: number): number[] {
  const day = Math.max(
    0,
    ticks.findIndex((tick) => !tick.includes(':')),
  )
  return ticks.map((_, index) => index).filter((index) => (index - day) % step === 0)
}

const MOST_TICKS = 12
const TICK_STEPS = [1, 2, 3, 4, 6, 7, 8, 12, 24]
/** Phones have room for every third one. */
const PHONE_TICKS = 3

/** A chart with its values as a table. The last interval is incomplete. islands/chart.ts shows values under the pointer. */
export function AreaChart({ label, points }: { label: string; points: Point[] }) {
  const values = points.map(({ value }) => value)
  const most = Math.max(0, ...values)
  const grid = gridOf(most)
  return (
    <figure class="chart area-chart">
      <figcaption>
        <span>{label}</span>
        <span class="hint" data-chart-value>
          Peak: {formatCount(most)}
        </span>
      </figcaption>
      <div class="plot" aria-hidden="true">
        <div class="scale">
          {grid.toReversed().map((value) => (
            <span key={value}>{formatCount(value)}</span>
          ))}
        </div>
        <Drawing values={values} grid={grid} />
        <Ticks points={points} />
      </div>
      <PointTable label={label} points={points} />
    </figure>
  )
}

function Drawing({ values, grid }: { values: number[]; grid: number[] }) {
  const top = grid.at(-1) ?? 1
  const places = placeAll(values, { width: WIDTH, height: HEIGHT, top, edge: 0 })
  return (
    <svg class="drawing" data-top={top}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" width="100%" height="100%">
        {grid.map((value) => (
          <path
            key={value}
            class="rule"
            d={`M0,${(HEIGHT * (1 - value / top)).toFixed(1)}H${WIDTH}`}
            vector-effect="non-scaling-stroke"
          />
        ))}
        {places.length > 0 && <path class="area" d={`${pathOf(places, WIDTH)}V${HEIGHT}H0Z`} />}
        {places.length > 2 && (
          <path class="line" d={pathOf(places.slice(0, -1), WIDTH)} vector-effect="non-scaling-stroke" />
        )}
        {places.length > 0 && (
          <path class="line last" d={pathOf(places.slice(-2), WIDTH)} vector-effect="non-scaling-stroke" />
        )}
      </svg>
      <g class="cursor">
        <line y2="100%" />
        <circle r="4" />
      </g>
    </svg>
  )
}

function Ticks({ points }: { points: Point[] }) {
  const texts = points.map(({ label, tick = label }) => tick)
  const step = TICK_STEPS.find((one) => points.length / one <= MOST_TICKS) ?? MOST_TICKS
  const last = Math.max(1, points.length - 1)
  return (
    <svg class="ticks">
      {pickTicks(texts, step).map((index, nth) => (
        <text
          key={index}
          class={nth % PHONE_TICKS === 0 ? undefined : 'wide'}
          x={`${((100 * index) / last).toFixed(1)}%`}
          y="20"
        >
          {texts[index]}
        </text>
      ))}
    </svg>
  )
}

const PointTable = ({ label, points }: { label: string; points: Point[] }) => (
  <details>
    <summary>Show as table</summary>
    <table class="table" aria-label={label}>
      <tbody>
        {points.map((point) => (
          <tr key={point.label}>
            <th scope="row">{point.label}</th>
            <td class="number">
              <data value={point.value}>{formatCount(point.value)}</data>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </details>
)
