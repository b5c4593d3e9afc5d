/** @jsxImportSource preact */
import type { FieldError } from '../../core/refusals.ts'
import type { SuppressionText } from '../../people/suppressions.ts'
import { pathOf } from '../layout/frame.tsx'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type ListForm = { text: SuppressionText; errors: FieldError[] }

type FormProps = { viewer: Viewer; form: ListForm | undefined }

const REASONS = [
  { value: 'unsubscribed', label: "They don't want email" },
  { value: 'bounced', label: 'Emails bounce' },
  { value: 'complained', label: 'They complained' },
]

const EmailAndWhy = ({ form }: Pick<FormProps, 'form'>) => (
  <>
    <Field name="email" label="Email" kind="email" value={form?.text.email ?? ''} autocomplete="off" />
    <Field
      name="why"
      label="Why"
      hint="Stored with your name and the time."
      value={form?.text.why ?? ''}
      autocomplete="off"
    />
  </>
)

/** For editors, when someone asked by another channel. */
export const AddForm = ({ viewer, form }: FormProps) => (
  <section>
    <h2>Add an address</h2>
    <Form
      action={`${pathOf(viewer.app.publicId, 'suppressions')}/add`}
      ids="add"
      errors={form?.errors}
      submit="Add"
      kind="plain"
    >
      <EmailAndWhy form={form} />
      <Select name="reason" label="What happened" value={form?.text.reason ?? ''} options={REASONS} />
    </Form>
  </section>
)

/** For editors; requires the person's consent and a reason. */
export const RemoveForm = ({ viewer, form }: FormProps) => (
  <section>
    <h2>Remove an address</h2>
    <p class="hint">Only if the person asked for email again. Earlier emails are not sent again.</p>
    <Form
      action={`${pathOf(viewer.app.publicId, 'suppressions')}/remove`}
      ids="remove"
      errors={form?.errors}
      submit="Remove"
      kind="danger"
    >
      <EmailAndWhy form={form} />
    </Form>
  </section>
)
