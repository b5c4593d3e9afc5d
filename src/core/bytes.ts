const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const
const STEP = 1024
/** Larger numbers have no decimals. */
const WHOLE = 10

/** "512 B", "1.5 GB", "24 GB" */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP
    unit += 1
  }
  const shown = value >= WHOLE || unit === 0 ? Math.round(value) : Math.round(value * 10) / 10
  return `${shown} ${UNITS[unit]}`
}
