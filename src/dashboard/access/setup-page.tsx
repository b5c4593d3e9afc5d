/** @jsxImportSource preact */
import type { FieldError } from '../../core/refusals.ts'
import { Layout } from '../layout/layout.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { PASSWORD_HINT } from './password-hint.ts'

/** Input that may be shown again; never the password. */
export type SetupInput = { email: string; app: string; domain: string }

export const EMPTY_SETUP: SetupInput = { email: '', app: '', domain: '' }

type SetupPageProps = { token: string; input: SetupInput; errors?: FieldError[]; notice?: string }

const FIELDS = ['email', 'password', 'app', 'domain']

export function SetupPage({ token, input, errors = [], notice }: SetupPageProps) {
  const errorOf = (field: string) => errors.find((error) => error.field === field)?.message
  const firstWrong = FIELDS.find((field) => errorOf(field) !== undefined) ?? 'email'
  const about = (field: string) => ({ name: field, error: errorOf(field), autofocus: field === firstWrong })
  const isAgain = errors.length > 0 || notice !== undefined
  return (
    <Layout title="Set up Eventpost" lead="Your account, your app and its first API key, in one step.">
      {notice && <Notice kind="error">{notice}</Notice>}
      {errors.length > 0 && <Notice kind="error">{countOf(errors)} and nothing was saved yet.</Notice>}
      <form method="post" action="/setup" novalidate>
        <input type="hidden" name="token" value={token} />
        <MemberFields email={input.email} about={about} isAgain={isAgain} />
        <AppFields input={input} about={about} />
        <Button kind="primary">Set up</Button>
      </form>
    </Layout>
  )
}

type About = (field: string) => { name: string; error: string | undefined; autofocus: boolean }

const MemberFields = ({ email, about, isAgain }: { email: string; about: About; isAgain: boolean }) => (
  <>
    <Field
      {...about('email')}
      label="Email"
      kind="email"
      hint="You sign in with it. Nothing is sent to it now."
      value={email}
      autocomplete="username"
    />
    <Field
      {...about('password')}
      label="Password"
      kind="password"
      hint={isAgain ? `${PASSWORD_HINT} Type it again: a page never holds it.` : PASSWORD_HINT}
      autocomplete="new-password"
    />
  </>
)

const DOMAIN_HINT = (
  <>
    Such as <code>app.example.com</code>. What comes with an event is linked in emails only when it leads there, or to a
    domain below it.
  </>
)

const AppFields = ({ input, about }: { input: SetupInput; about: About }) => (
  <>
    <Field {...about('app')} label="App name" hint="The name of your product." value={input.app} autocomplete="off" />
    <Field
      {...about('domain')}
      label="The app's own domain"
      hint={DOMAIN_HINT}
      value={input.domain}
      autocomplete="off"
      optional
    />
  </>
)

const countOf = (errors: FieldError[]): string =>
  errors.length === 1 ? 'One field needs another look,' : `${errors.length} fields need another look,`
