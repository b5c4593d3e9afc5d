/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { Toggle } from '../ui/choice.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form, describeUnsaved } from '../ui/form.tsx'
import { type PersonText, writeShown } from './person-form.ts'

type PersonFormProps = {
  viewer: Viewer
  /** null: a new one */
  person: ContactRow | null
  text: PersonText
  /** what the form showed before `text` was typed */
  shown?: PersonText
  errors: FormError[]
  /** who already has the email of a new one */
  existing?: ContactRow
  notice?: string
  /** people can be asked to confirm their address */
  isOptInOn: boolean
}

const EMPTY_ROWS = 3

/** For editors: adds or changes a person. */
export const PersonFormPage = (props: PersonFormProps) => {
  const { viewer, person, text, shown = text, errors, existing, notice, isOptInOn } = props
  const people = pathOf(viewer.app.publicId, 'people')
  const path = person ? personPath(viewer.app.publicId, person.id) : people
  return (
    <Frame
      viewer={viewer}
      page="people"
      title={person ? `Edit ${person.email}` : 'Add a person'}
      tabTitle={person ? 'Edit person' : undefined}
      state={
        person ? (
          'Changes appear on the timeline, with your email.'
        ) : (
          <>
            Adding a person triggers the <a href={pathOf(viewer.app.publicId, 'messages')}>messages</a> for new people.
          </>
        )
      }
    >
      <Form
        action={person ? `${path}/edit` : `${path}/new`}
        hidden={person ? writeShown(shown) : undefined}
        errors={errors}
        notice={notice ?? (errors.length > 0 ? describeUnsaved(errors) : undefined)}
        submit={person ? 'Save' : 'Add person'}
        cancel={path}
      >
        {!person && (
          <Field
            name="email"
            label="Email"
            kind="email"
            value={text.email}
            error={existing && <Existing path={personPath(viewer.app.publicId, existing.id)} />}
            autocomplete="off"
            autofocus
          />
        )}
        <div class="beside person-names">
          <Field name="firstName" label="First name" value={text.firstName} autocomplete="off" optional />
          <Field name="lastName" label="Last name" value={text.lastName} autocomplete="off" optional />
        </div>
        <Field
          name="source"
          label="Source"
          hint="Where they came from, such as “landing page”."
          value={text.source}
          autocomplete="off"
          optional
        />
        <Field
          name="tags"
          label="Tags"
          kind="lines"
          hint="One per line."
          value={text.tags}
          autocomplete="off"
          optional
        />
        <FieldRows {...{ person, text, errors }} />
        {!person && isOptInOn && (
          <Toggle
            name="asksConsent"
            label="Ask them to confirm the address"
            hint="Until they do, they get transactional emails only."
            isOn={text.asksConsent}
          />
        )}
      </Form>
    </Frame>
  )
}

const Existing = ({ path }: { path: string }) => (
  <>
    This app already has a person with this email. <a href={`${path}/edit`}>Edit that person</a> instead.
  </>
)

const FieldRows = ({ person, text, errors }: Pick<PersonFormProps, 'person' | 'text' | 'errors'>) => {
  const rows = [...text.fields, ...Array.from({ length: EMPTY_ROWS }, () => ({ name: '', value: '' }))]
  const error = errors.find(({ field }) => field === 'fields')?.message
  return (
    <fieldset class={error ? 'field wrong' : 'field'}>
      <legend>Fields</legend>
      <p class="hint">
        Put numbers, true and false in quotes to save them as text, such as <code>"8001"</code>.
        {person && ' An empty value removes the field.'}
      </p>
      {error && <p class="fault">{error}</p>}
      {rows.map(({ name, value }, row) => (
        <div key={row} class={row === 0 ? 'beside' : 'beside unlabelled'}>
          <Field
            name={`fields[${row}].name`}
            label={row === 0 ? 'Name' : `Name ${row + 1}`}
            value={name}
            autocomplete="off"
            optional
          />
          <Field
            name={`fields[${row}].value`}
            label={row === 0 ? 'Value' : `Value ${row + 1}`}
            value={value}
            autocomplete="off"
            optional
          />
        </div>
      ))}
    </fieldset>
  )
}
