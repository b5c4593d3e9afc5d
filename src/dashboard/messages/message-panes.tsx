/** @jsxImportSource preact */
import type { EditorProps } from './editor-props.ts'
import { countOpen, listChecks, OPEN_CHECKS } from './message-checklist.tsx'
import { type Fields, textOf } from './message-field-names.ts'

const PANES = { write: 'Write', preview: 'Preview', checks: 'Checks' }

/** Field of the form, and parameter of the editor's address. */
export const PANE = 'pane'

const paneOf = (fields: Fields): string => {
  const pane = textOf(fields, PANE)
  return Object.hasOwn(PANES, pane) ? pane : 'write'
}

/** The address of the editor with the chosen one. */
export const withPane = (path: string, fields: Fields): string =>
  paneOf(fields) === 'write' ? path : `${path}?${PANE}=${paneOf(fields)}`

/**
 * On phones, which show one of the three. Errors are at the fields. Without scripts, the address decides once it names
 * a part of one, so the choices are links then.
 */
export function Panes(props: EditorProps) {
  const selected = props.errors.length > 0 ? 'write' : paneOf(props.fields)
  const open = countOpen(listChecks(props))
  return (
    <fieldset class="panes">
      <legend class="unseen">Email and checks</legend>
      {Object.entries(PANES).map(([pane, name]) => (
        <>
          <input
            type="radio"
            class="unseen"
            id={`${PANE}-${pane}`}
            name={PANE}
            value={pane}
            checked={pane === selected}
          />
          <label for={`${PANE}-${pane}`}>
            {name}
            {pane === 'checks' && <span id={OPEN_CHECKS}>{open}</span>}
          </label>
          <a href={`#${pane}`}>{pane === 'checks' ? name + open : name}</a>
        </>
      ))}
    </fieldset>
  )
}
