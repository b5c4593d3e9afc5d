/** @jsxImportSource preact */
import { MINUTE_MS } from '../../core/clock.ts'
import { SECOND_STEP_MS } from '../../accounts/second-steps.ts'
import { Layout } from '../layout/layout.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Command } from '../ui/text.tsx'
import type { TypedStep } from './second-step.ts'

type FieldsProps = {
  email: string
  /** field names, which differ on an expired form */
  names: { [name in keyof TypedStep]: string }
  button: string
  /** the error and the field it belongs to */
  fault?: { message: string; isOfRecovery: boolean }
}

/** A code, or a recovery code without the phone. */
export const SecondStepFields = ({ email, names, button, fault }: FieldsProps) => {
  const isOfRecovery = fault?.isOfRecovery === true
  return (
    <>
      <Field
        name={names.code}
        label="Code"
        kind="code"
        hint="The 6 digits that your authenticator app shows now."
        error={isOfRecovery ? undefined : fault?.message}
        autofocus={!isOfRecovery}
        autocomplete="one-time-code"
      />
      <Button kind="primary">{button}</Button>
      <details class="instead" open={isOfRecovery}>
        <summary>No phone? Use a recovery code</summary>
        <Field
          name={names.recoveryCode}
          label="Recovery code"
          hint="One of the ten you stored. Each works once."
          error={isOfRecovery ? fault?.message : undefined}
          autofocus={isOfRecovery}
          autocomplete="off"
        />
        <Button>{button}</Button>
        <p class="hint">
          No codes either? The operator of this installation can turn this step off:{' '}
          <Command>{`eventpost member reset-password --email ${email} --two-step-off`}</Command>
        </p>
      </details>
    </>
  )
}

export const SIGN_IN_STEP = { code: 'code', recoveryCode: 'recoveryCode' } as const

export const SecondStepPage = ({
  email,
  next,
  isPasswordSet,
  fault,
}: {
  email: string
  next: string
  /** signed in by a link */
  isPasswordSet?: boolean
  fault?: FieldsProps['fault']
}) => (
  <Layout
    title="Enter your code"
    lead={`Second step for ${email}. Enter the code within ${SECOND_STEP_MS / MINUTE_MS} minutes.`}
    isNarrow
  >
    {isPasswordSet && <Notice kind="done">Your new password is set. Your other sessions have ended.</Notice>}
    <Form action="/sign-in/code" hidden={{ next }}>
      <SecondStepFields email={email} names={SIGN_IN_STEP} button="Sign in" fault={fault} />
    </Form>
    <p class="hint after-form">
      Or <a href={`/sign-in?${new URLSearchParams({ next })}`}>sign in as someone else</a>.
    </p>
  </Layout>
)
