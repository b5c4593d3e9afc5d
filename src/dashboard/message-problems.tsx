/** @jsxImportSource preact */
import type { FieldError } from '../core/refusals.ts'
import { Ticked } from './parts/text.tsx'
import { Notice } from './parts/notice.tsx'

/** All that is wrong in one place, each a way to its field; where it was tried, nothing was saved. */
export const ProblemList = ({ errors, isTried }: { errors: FieldError[]; isTried: boolean }) => (
  <Notice kind={isTried ? 'error' : 'caution'}>
    <p>
      {isTried
        ? 'Nothing was saved yet. Look at these again:'
        : errors.length === 1
          ? 'One thing stands in the way of going live:'
          : `${errors.length} things stand in the way of going live:`}
    </p>
    <ul class="problems">
      {errors.map(({ field, message }) => (
        <li key={field + message}>
          <a href={`#${encodeURIComponent(field)}`}>
            <Ticked>{message}</Ticked>
          </a>
        </li>
      ))}
    </ul>
  </Notice>
)
