/** @jsxImportSource preact */
import { formatCount } from './chart.tsx'

/** How far something is, in words and as a bar; without `of` it is not known how long it takes. */
export const Progress = ({ id, label, done, of }: { id: string; label: string; done: number; of: number | null }) => (
  <div class="progress">
    <div>
      <label for={id}>{label}</label>
      <span class="hint">{of === null ? formatCount(done) : `${formatCount(done)} of ${formatCount(of)}`}</span>
    </div>
    <progress id={id} value={of === null ? undefined : done} max={of ?? undefined} />
  </div>
)
