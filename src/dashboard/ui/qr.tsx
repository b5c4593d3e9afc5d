/** @jsxImportSource preact */
import { encode } from 'uqr'

/** Quiet zone in modules, required by scanners. */
const QUIET_MODULES = 4

/** Dark on white in any theme, because many apps can't read the inverse. */
export const QrCode = ({ label, children }: { label: string; children: string }) => {
  const { data, size } = encode(children, { ecc: 'M', border: QUIET_MODULES })
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <path d={data.map(pathOfRow).join('')} />
    </svg>
  )
}

const pathOfRow = (row: boolean[], y: number): string =>
  row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')).join('')
