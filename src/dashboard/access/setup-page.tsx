/** @jsxImportSource preact */
import type { FieldError } from '../../core/refusals.ts'
import { Layout } from '../layout/layout.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PASSWORD_HINT } from '../../accounts/passwords.ts'

/** Input that may be shown again; never the password. */
export type SetupInput = { email: string; app: string; domain: string }

export const EMPTY_SETUP: SetupInput = { email: '', app: '', domain: '' }

type SetupPageProps = { token: string; input: SetupInput; errors?: FieldError[]; notice?: string }

export function SetupPage({ token, input, errors = [], notice }: SetupPageProps) {
  // the page never has the password
  const isAgain = notice !== undefined || (errors.length > 0 && errors.every(({ field }) => field !== 'password'))
  return (
    <Layout title="Set up Eventpost" lead="This creates your account, your app and your first API key.">
      <Form
        action="/setup"
        hidden={{ token }}
        errors={errors}
        notice={errors.length > 0 ? describeErrors(errors, isAgain) : notice}
        submit="Set up"
      >
        <MemberFields email={input.email} isAgain={isAgain} />
        <AppFields input={input} />
      </Form>
    </Layout>
  )
}

const MemberFields = ({ email, isAgain }: { email: string; isAgain: boolean }) => (
  <>
    <Field
      name="email"
      label="Email"
      kind="email"
      autofocus
      hint="You sign in with this email."
      value={email}
      autocomplete="username"
    />
    <Field
      name="password"
      label="Password"
      kind="password"
      hint={isAgain ? "Enter it again. Passwords aren't kept in forms." : PASSWORD_HINT}
      autocomplete="new-password"
    />
  </>
)

const DOMAIN_HINT = (
  <>
    Such as <code>app.example.com</code>, or <code>localhost</code> for tests. Ports are ignored. Without a domain,
    emails can't link to results in your app.
  </>
)

const AppFields = ({ input }: { input: SetupInput }) => (
  <>
    <Field name="app" label="App name" hint="The name of your product." value={input.app} autocomplete="off" />
    <Field name="domain" label="App domain" hint={DOMAIN_HINT} value={input.domain} autocomplete="off" optional />
  </>
)

const describeErrors = ({ length }: FieldError[], isAgain: boolean): string =>
  `Nothing was saved. Correct ${length === 1 ? 'the marked field' : `the ${length} marked fields`}${isAgain ? ', then enter the password again' : ''}.`
