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

/** The page never has the password. */
const PASSWORD_AGAIN: FieldError = { field: 'password', code: 'missing', message: 'Enter the password again.' }

const FIELDS = ['email', 'password', 'app', 'domain']

export function SetupPage({ token, input, errors = [], notice }: SetupPageProps) {
  const isKnown = errors.length === 0 || errors.some(({ field }) => field === 'password')
  const byPage = [...errors, ...(isKnown ? [] : [PASSWORD_AGAIN])].toSorted(
    (a, b) => FIELDS.indexOf(a.field) - FIELDS.indexOf(b.field),
  )
  return (
    <Layout title="Set up Eventpost" lead="Your account, your app and its first API key, in one step.">
      <Form
        action="/setup"
        hidden={{ token }}
        errors={byPage}
        notice={errors.length > 0 ? describeErrors(byPage) : notice}
        submit="Set up"
      >
        <MemberFields email={input.email} isAgain={notice !== undefined} />
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
      hint={isAgain ? `${PASSWORD_HINT} Enter it again.` : PASSWORD_HINT}
      autocomplete="new-password"
    />
  </>
)

const DOMAIN_HINT = (
  <>
    Such as <code>app.example.com</code>. Without it, emails can't link to results in your app.
  </>
)

const AppFields = ({ input }: { input: SetupInput }) => (
  <>
    <Field name="app" label="App name" hint="The name of your product." value={input.app} autocomplete="off" />
    <Field
      name="domain"
      label="Domain of the app"
      hint={DOMAIN_HINT}
      value={input.domain}
      autocomplete="off"
      optional
    />
  </>
)

const describeErrors = ({ length }: FieldError[]): string =>
  `Nothing was saved yet. Correct ${length === 1 ? 'the marked field' : `the ${length} marked fields`}.`
