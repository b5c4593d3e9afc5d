/** @jsxImportSource preact */
import { type ComponentChildren, Fragment } from 'preact'
import { CopyButton } from './copy.tsx'

/** Copyable values; one click selects all. `isCompact` is for lists of short values. */
export const Values = ({ isCompact, children }: { isCompact?: boolean; children: ComponentChildren }) => (
  <dl class={isCompact ? 'values compact' : 'values'}>{children}</dl>
)

/** An address breaks after a slash rather than inside an ID. */
const partsOf = (text: string): string[] => (text.startsWith('http') ? text.split(/(?<=[^:/]\/)/) : [text])

/** `id` is unique on the page. */
export const Value = ({ id, name, children }: { id: string; name: string; children: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <code class="whole" id={id}>
        {partsOf(children).map((part, index) => (
          <Fragment key={index}>
            {index > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
      </code>
      <CopyButton from={id} what={name} />
    </dd>
  </div>
)

/** A name and a value, without copying. */
export const Fact = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
