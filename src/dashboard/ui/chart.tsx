/** @jsxImportSource preact */
/** `tick`: short label below the chart. */
export type Point = { label: string; tick?: string; value: number }

const WIDTH = 640
const HEIGHT = 160
/** Space for the line's width. */
const EDGE = 2

export const formatCount = (count: number): string => (count > 9_999 ? count.toLocaleString('en-GB') : String(count))

/** SVG path through the values; a horizontal line for one value. */
function pathOf(values: number[], width: number, height: number): string {
  const top = Math.max(1, ...values)
  const step = width / Math.max(1, values.length - 1)
  const y = (value: number): string => (EDGE + (1 - value / top) * (height - 2 * EDGE)).toFixed(1)
  if (values.length === 1) return `M0,${y(values[0] ?? 0)}H${width}`
  return values.map((value, index) => `${index === 0 ? 'M' : 'L'}${(index * step).toFixed(1)},${y(value)}`).join('')
}

const SPARK_WIDTH = 120
const SPARK_HEIGHT = 32

/** A line without axes, with its extremes as text. */
export function Sparkline({ label, values }: { label: string; values: number[] }) {
  if (values.every((value) => value === 0)) return <span class="spark none">{'\u00a0'}</span>
  const line = pathOf(values, SPARK_WIDTH, SPARK_HEIGHT)
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

/** A chart with its values as a table. islands/chart.ts redraws it from the table and adds a tooltip. */
export function AreaChart({ label, points }: { label: string; points: Point[] }) {
  const line = pathOf(
    points.map(({ value }) => value),
    WIDTH,
    HEIGHT,
  )
  const most = Math.max(0, ...points.map(({ value }) => value))
  return (
    <figure class="chart">
      <figcaption>
        <span>{label}</span>
        <span class="hint" data-chart-value>
          Peak: {formatCount(most)}
        </span>
      </figcaption>
      <div class="plot" aria-hidden="true">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
          <path class="rule" d={`M0,${HEIGHT}H${WIDTH}`} vector-effect="non-scaling-stroke" />
          <path class="area" d={`${line}V${HEIGHT}H0Z`} />
          <path class="line" d={line} vector-effect="non-scaling-stroke" />
        </svg>
        <div class="axis">
          <span>{points[0]?.label}</span>
          <span>{points.at(-1)?.label}</span>
        </div>
      </div>
      <PointTable label={label} points={points} />
    </figure>
  )
}

const PointTable = ({ label, points }: { label: string; points: Point[] }) => (
  <details>
    <summary>Show as table</summary>
    <table class="table" aria-label={label}>
      <tbody>
        {points.map((point) => (
          <tr key={point.label} data-tick={point.tick}>
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
