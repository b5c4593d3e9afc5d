/** @jsxImportSource preact */
import { Frame, pathOf } from '../layout/frame.tsx'
import { environmentSample, SECRETS_WARNING } from '../../docs/samples.ts'
import { Radios } from '../ui/choice.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type NewKeyInput = { name: string; scope: string }

type NewKeyProps = {
  viewer: Viewer
  /** random token that identifies a resubmitted form */
  form: string
  input: NewKeyInput
  errors?: FormError[]
  notice?: string
}

export const SCOPES = [
  {
    value: 'standard',
    label: 'Standard',
    hint: 'Reads data, and writes people and events, over HTTP and MCP. Over HTTP, also erases people, and sends and cancels emails.',
  },
  { value: 'ingest', label: 'Ingest', hint: 'Adds and updates people and sends events, over HTTP. Reads nothing.' },
  {
    value: 'manage',
    label: 'Manage',
    hint: 'Everything in Standard. Also changes messages and sends test emails. Over HTTP, also sends failed emails again.',
  },
]

export const NewKeyPage = ({ viewer, form, input, errors, notice }: NewKeyProps) => {
  const keys = pathOf(viewer.app.publicId, 'keys')
  return (
    <Frame
      viewer={viewer}
      page="keys"
      title="Create a key"
      state="The next page shows the key once, with the identity secret."
    >
      <Form action={keys} hidden={{ form }} errors={errors} notice={notice} submit="Create the key" cancel={keys}>
        <Field
          name="name"
          label="Name"
          hint="Such as Production. Names needn't be unique."
          value={input.name}
          autofocus
          autocomplete="off"
        />
        <Radios name="scope" label="Scope" value={input.scope} options={SCOPES} />
      </Form>
    </Frame>
  )
}

/** The only page that shows this key. */
export const KeyMadePage = ({ viewer, made }: { viewer: Viewer; made: Made }) => (
  <Frame viewer={viewer} page="keys" title="Your new key" state="The key is active. Store both values, then continue.">
    <MadeKey {...made} next={pathOf(viewer.app.publicId, 'keys')} />
  </Frame>
)

export type Made = { apiKey: string; identitySecret: string }

/** Shows a new key, once, and the identity secret. */
export const MadeKey = ({ apiKey, identitySecret, next }: Made & { next?: string }) => (
  <SecretOnce
    secrets={[
      { id: 'api-key', name: 'API key', text: apiKey },
      { id: 'identity-secret', name: 'Identity secret', text: identitySecret },
    ]}
    warning="The API key is shown only once. The identity secret is shown again with each new key."
    next={next}
  >
    <p>{SECRETS_WARNING}</p>
    <CodeBlock id="environment" label="Server environment">
      {environmentSample(apiKey, identitySecret)}
    </CodeBlock>
  </SecretOnce>
)
