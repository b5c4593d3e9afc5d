/** @jsxImportSource preact */
import { Frame, pathOf } from '../layout/frame.tsx'
import { type Made, MadeKey } from './made-key.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Radios } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type NewKeyInput = { name: string; scope: string }

type NewKeyProps = {
  viewer: Viewer
  /** random token that identifies a resubmitted form */
  form: string
  input: NewKeyInput
  errors?: { field: string; message: string }[]
  notice?: string
}

const SCOPES = [
  { value: 'standard', label: 'Standard', hint: 'Reads and writes people and events, over HTTP and MCP.' },
  { value: 'ingest', label: 'Ingest', hint: 'Sends people and events over HTTP, and reads nothing.' },
  { value: 'manage', label: 'Manage', hint: 'As standard, and an AI client may also change messages with it.' },
]

export function NewKeyPage({ viewer, form, input, errors = [], notice }: NewKeyProps) {
  const errorOf = (field: string) => errors.find((error) => error.field === field)?.message
  const keys = pathOf(viewer.app.publicId, 'keys')
  return (
    <Frame
      viewer={viewer}
      page="keys"
      title="Make a key"
      state="The next page shows the key once, with the identity secret."
    >
      {notice && <Notice kind="error">{notice}</Notice>}
      <form method="post" action={keys} novalidate>
        <input type="hidden" name="form" value={form} />
        <Field
          name="name"
          label="Name"
          hint="Where it will be used, such as Production. Names may repeat."
          error={errorOf('name')}
          value={input.name}
          autofocus
          autocomplete="off"
        />
        <Radios name="scope" label="Scope" value={input.scope} error={errorOf('scope')} options={SCOPES} />
        <div class="buttons">
          <Button kind="primary">Make the key</Button>
          <ButtonLink href={keys}>Cancel</ButtonLink>
        </div>
      </form>
    </Frame>
  )
}

/** The only page that shows this key. */
export const KeyMadePage = ({ viewer, made }: { viewer: Viewer; made: Made }) => (
  <Frame viewer={viewer} page="keys" title="Your new key" state="It works from now on. Store both values, then go on.">
    <MadeKey {...made} next={pathOf(viewer.app.publicId, 'keys')} />
  </Frame>
)
