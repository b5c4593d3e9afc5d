/** @jsxImportSource preact */
import type { FieldError } from '../../core/refusals.ts'
import type { RemovalText, SuppressionListText, SuppressionReason } from '../../people/suppressions.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { describeUnsaved, Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'

type FormProps<Text> = { viewer: Viewer; text: Text; errors: FieldError[]; notice?: string }

export const REASONS: Record<SuppressionReason, string> = {
  unsubscribed: 'Unsubscribed',
  bounced: 'Bounced',
  complained: 'Complained',
}

const Why = ({ value, doing }: { value: string; doing: string }) => (
  <Field
    name="why"
    label="Note"
    hint={`Why you're ${doing}. Shown with your email.`}
    value={value}
    autocomplete="off"
  />
)

export const WHAT_IT_DOES =
  'Unsubscribed people get no lifecycle emails. People whose address bounced, or who reported spam, get no emails at all.'

/** For editors: typed addresses, or the export of another mail provider. */
export const AddSuppressionsPage = ({ viewer, text, errors, notice }: FormProps<SuppressionListText>) => {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <Frame viewer={viewer} page="deliveries" title="Add addresses" state={WHAT_IT_DOES}>
      <Form
        action={`${path}/new`}
        hasFiles
        errors={errors}
        notice={notice ?? (errors.length > 0 ? describeUnsaved(errors) : undefined)}
        submit="Add to suppressions"
        cancel={path}
      >
        <Field
          name="addresses"
          label="Addresses"
          kind="lines"
          hint="One per line. Or choose a file below."
          value={text.addresses}
          autocomplete="off"
          optional="unmarked"
        />
        <Field
          name="file"
          label="Or a file"
          kind="file"
          hint="CSV or text, such as an email provider's export."
          autocomplete="off"
          optional="unmarked"
        />
        <Select
          name="reason"
          label="Reason"
          hint="Also used for lines without a known reason."
          value={text.reason}
          options={Object.entries(REASONS).map(([value, label]) => ({ value, label }))}
        />
        <Why doing="adding them" value={text.why} />
      </Form>
    </Frame>
  )
}

const COMPLAINED =
  'This person reported an email as spam. If they do it again, mailbox providers may block more of your emails.'

/** For editors; requires the person's consent and a reason. */
export const RemoveSuppressionPage = ({
  viewer,
  text,
  errors,
  notice,
  isUnsubscribed,
  hasComplained,
}: FormProps<RemovalText> & { isUnsubscribed: boolean; hasComplained: boolean }) => {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <Frame
      viewer={viewer}
      page="deliveries"
      title={`Remove ${text.email} from suppressions?`}
      tabTitle="Remove from suppressions"
      state={
        isUnsubscribed
          ? "They also unsubscribed, so they stay unsubscribed and get only transactional emails. Earlier emails aren't resent."
          : "Do this only if they asked to get emails again. Earlier emails aren't resent."
      }
    >
      <FormNotices notice={notice ?? errors.find(({ field }) => field === 'email')?.message} />
      {hasComplained && <Notice kind="caution">{COMPLAINED}</Notice>}
      <Form
        action={`${path}/remove`}
        hidden={{ email: text.email, confirmed: 'on' }}
        errors={errors}
        submit="Remove from suppressions"
        kind="danger"
        cancel={path}
      >
        <Why doing="removing it" value={text.why} />
      </Form>
    </Frame>
  )
}
