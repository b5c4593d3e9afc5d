/** @jsxImportSource preact */
import type { FieldError } from '../../core/refusals.ts'
import type { SuppressionText } from '../../people/suppressions.ts'
import { pathOf } from '../layout/frame.tsx'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type ListForm = { text: SuppressionText; errors: FieldError[] }

type FormProps = { viewer: Viewer; form: ListForm | undefined }

const REASONS = [
  { value: 'unsubscribed', label: 'They do not want mail' },
  { value: 'bounced', label: 'Mail to it bounces' },
  { value: 'complained', label: 'They complained' },
]

const errorOf = (form: ListForm | undefined, name: string): string | undefined =>
  form?.errors.find(({ field }) => field === name)?.message

/** Unique ids, because the page has two of these forms. */
const EmailAndWhy = ({ form, prefix }: { form: ListForm | undefined; prefix: string }) => (
  <>
    <PrefixedField prefix={prefix} name="email" label="Email" form={form} />
    <PrefixedField prefix={prefix} name="why" label="Why" form={form} hint="Stored with your name and the time." />
  </>
)

type PrefixedProps = {
  prefix: string
  name: 'email' | 'why'
  label: string
  hint?: string
  form: ListForm | undefined
}

const PrefixedField = ({ prefix, name, label, hint, form }: PrefixedProps) => (
  <Field
    id={`${prefix}-${name}`}
    name={name}
    label={label}
    kind={name === 'email' ? 'email' : 'text'}
    hint={hint}
    value={form?.text[name] ?? ''}
    error={errorOf(form, name)}
    autofocus={form?.errors[0]?.field === name}
    autocomplete="off"
  />
)

/** For editors, when someone asked by another channel. */
export const AddForm = ({ viewer, form }: FormProps) => (
  <section>
    <h2>Add an address</h2>
    <form method="post" action={`${pathOf(viewer.app.publicId, 'suppressions')}/add`} novalidate>
      <EmailAndWhy form={form} prefix="add" />
      <Select
        name="reason"
        label="What happened"
        value={form?.text.reason ?? ''}
        error={errorOf(form, 'reason')}
        options={REASONS}
      />
      <Button>Add it</Button>
    </form>
  </section>
)

/** For editors; requires the person's consent and a reason. */
export const RemoveForm = ({ viewer, form }: FormProps) => (
  <section>
    <h2>Take an address off</h2>
    <p class="hint">Only when its person asked for mail again. What was sent to them before is not sent twice.</p>
    <form method="post" action={`${pathOf(viewer.app.publicId, 'suppressions')}/remove`} novalidate>
      <EmailAndWhy form={form} prefix="remove" />
      <Button kind="danger">Take it off</Button>
    </form>
  </section>
)
