/** @jsxImportSource preact */
import { formatCount } from './chart.tsx'

/** Without `of`, the total is unknown. */
export const Progress = ({ id, label, done, of }: { id: string; label: string; done: number; of: number | null }) => (
  <div class="progress">
    <div>
      <label for={id}>{label}</label>
      <span class="hint">{of === null ? formatCount(done) : `${formatCount(done)} of ${formatCount(of)}`}</span>
    </div>
    <progress id={id} value={of === null ? undefined : done} max={of ?? undefined} />
  </div>
)
