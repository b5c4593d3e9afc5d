/** @jsxImportSource preact */
import { Icon } from './icon.tsx'
import { SentText } from './text.tsx'

/** `href`: the page without this filter. */
export type Chip = { name: string; value: string; href: string }

/** The filters in use; each removes itself. `clear`: the page without any. */
export const Chips = ({ chips, clear }: { chips: Chip[]; clear: string }) =>
  chips.length === 0 ? null : (
    <ul class="chips" aria-label="Active filters">
      {chips.map(({ name, value, href }) => (
        <li key={name}>
          <a class="chip" href={href}>
            <span class="unseen">Remove the filter </span>
            <span>
              <SentText most={60}>{name}</SentText>:{' '}
              <b>
                <SentText most={60}>{value}</SentText>
              </b>
            </span>
            <Icon name="close" />
          </a>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <a class="clear" href={clear}>
            Clear all
          </a>
        </li>
      )}
    </ul>
  )
