/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Button, ButtonLink, type ButtonKind, HiddenFields } from './button.tsx'
import { Field, FormContext, type FormError } from './field.tsx'
import { Notice } from './notice.tsx'

/** Fields of the password confirmation. */
export const CONFIRM_FIELD = 'confirmPassword'
export const CONFIRM_CODE_FIELD = 'confirmCode'

/** For forms in which an error may be out of sight. */
export const describeUnsaved = ({ length }: readonly unknown[]): string =>
  `Not saved. Correct the marked ${length === 1 ? 'field' : 'fields'}.`

type NoticeProps = {
  /** error of the whole form */
  notice?: ComponentChildren
  /** why the form is locked */
  locked?: string | false
}

export type FormProps = NoticeProps & {
  action: string
  /** hidden fields */
  hidden?: Record<string, string>
  /** shown at the fields with these names; the first one gets the focus */
  errors?: FormError[]
  /** read-only fields and no button; true with `locked` */
  isLocked?: boolean
  /** sends files */
  hasFiles?: boolean
  /** for buttons elsewhere on the page */
  id?: string
  /** prefix of the fields' ids, if another form has the same fields */
  ids?: string
  /** whose password this is, for password managers */
  username?: string
  /** asks `username` for the password, and for a code if needed */
  confirm?: { needsCode: boolean }
  /** label of the button; without one, the children have it */
  submit?: string
  kind?: ButtonKind
  /** target of Cancel */
  cancel?: string
  children?: ComponentChildren
}

/** A form by POST, with its notices, errors and buttons. */
export const Form = (props: FormProps) => {
  const {
    action,
    hidden = {},
    errors = [],
    locked,
    isLocked = Boolean(locked),
    id,
    hasFiles,
    ids,
    username,
    confirm,
    children,
  } = props
  return (
    <>
      <FormNotices {...props} />
      <form id={id} method="post" enctype={hasFiles ? 'multipart/form-data' : undefined} action={action} novalidate>
        <HiddenFields fields={hidden} />
        {username !== undefined && <input type="hidden" autocomplete="username" value={username} />}
        <FormContext.Provider value={{ errors, isLocked, ids }}>
          {children}
          {confirm && <ConfirmFields {...confirm} />}
        </FormContext.Provider>
        {!isLocked && <Buttons {...props} />}
      </form>
    </>
  )
}

/** For pages that show them above other content. */
export const FormNotices = ({ notice, locked }: NoticeProps) => (
  <>
    {notice && <Notice kind="error">{notice}</Notice>}
    {locked && <Notice kind="info">{locked}</Notice>}
  </>
)

const Buttons = ({ submit, kind = 'primary', cancel }: FormProps) => {
  if (submit === undefined) return null
  const button = <Button kind={kind}>{submit}</Button>
  if (cancel === undefined) return button
  return (
    <div class="buttons">
      {button}
      <ButtonLink href={cancel}>Cancel</ButtonLink>
    </div>
  )
}

const ConfirmFields = ({ needsCode }: { needsCode: boolean }) => (
  <>
    <Field name={CONFIRM_FIELD} label="Password" kind="password" autofocus autocomplete="current-password" />
    {needsCode && (
      <Field
        name={CONFIRM_CODE_FIELD}
        label="Code"
        hint="6 digits from your authenticator app, or a recovery code."
        autocomplete="one-time-code"
      />
    )}
  </>
)
