/** @jsxImportSource preact */
import type { FieldError } from '../core/refusals.ts'
import { pathOf } from './frame.tsx'
import { Ticked } from './parts/text.tsx'
import { Notice } from './parts/notice.tsx'

/** All that is wrong in one place, each a way to its field; where it was tried, nothing was saved. */
export const ProblemList = ({ errors, isTried, appId }: { errors: FieldError[]; isTried: boolean; appId: string }) => (
  <Notice kind={isTried ? 'error' : 'caution'}>
    <p>
      {isTried
        ? 'Nothing was saved yet. Look at these again:'
        : errors.length === 1
          ? 'One thing stands in the way of going live:'
          : `${errors.length} things stand in the way of going live:`}
    </p>
    <ul class="problems">
      {errors.map(({ field, code, message }) => (
        <li key={field + message}>
          <a href={code === 'no_sender' ? pathOf(appId, 'sender') : `#${encodeURIComponent(field)}`}>
            <Ticked>{message}</Ticked>
          </a>
        </li>
      ))}
    </ul>
  </Notice>
)
