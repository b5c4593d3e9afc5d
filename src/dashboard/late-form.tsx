/** @jsxImportSource preact */
import { REFUSALS } from '../core/refusals.ts'
import type { SignedIn } from '../core/sessions.ts'
import { pageAnswer } from './answers.ts'
import type { PageParts } from './door.tsx'
import type { Form } from './forms.ts'
import { Layout } from './layout.tsx'
import { Button, HiddenFields } from './parts/button.tsx'
import { Field } from './parts/field.tsx'
import { Notice } from './parts/notice.tsx'
import { checkPassword, withWait } from './password-check.ts'
import { pageAbove } from './paths.ts'
import { startSession } from './session-start.ts'

/** Beside the fields of the form that waits. */
const EMAIL = 'signInEmail'
const PASSWORD = 'signInPassword'

/** `fields` are those of the form alone. */
type Late = { signedIn: SignedIn; cookies: string[]; fields: Form['fields'] }

/**
 * A form that came after its session had ended: shows a page that asks to sign in and sends the same form again, so that
 * nothing that was typed is lost; whose it is once the password is right. `fields` hold no password, because a page never
 * does.
 */
export async function signInLate(
  parts: PageParts,
  request: Request,
  { [EMAIL]: email, [PASSWORD]: password, ...fields }: Form['fields'],
): Promise<Late | Response> {
  const ask = (status: number, error?: string): Response =>
    pageAnswer(request, status, <LatePage url={new URL(request.url)} {...{ fields, email, error }} />)
  if (email === undefined || password === undefined) return ask(401)
  const checked = await checkPassword(parts, request, email, password)
  if ('message' in checked) return withWait(ask(checked.status, checked.message), checked)
  const started = await startSession(parts, request, checked)
  const signedIn = started && (await parts.sessions.find(started.token))
  const { status, message } = REFUSALS.wrong_password
  return signedIn ? { signedIn, cookies: started.cookies, fields } : ask(status, message)
}

type LateProps = { url: URL; fields: Record<string, string>; email?: string; error?: string }

const LatePage = ({ url: { pathname, search }, fields, email = '', error }: LateProps) => (
  <Layout
    title="Sign in"
    lead="You were signed out before this was sent. It is kept here, and sent when you sign in."
    isNarrow
  >
    {error && <Notice kind="error">{error}</Notice>}
    <form method="post" action={pathname + search} novalidate>
      <HiddenFields fields={fields} />
      <Field name={EMAIL} label="Email" kind="email" value={email} autofocus={email === ''} autocomplete="username" />
      <Field
        name={PASSWORD}
        label="Password"
        kind="password"
        autofocus={email !== ''}
        autocomplete="current-password"
      />
      <Button kind="primary">Sign in and send it</Button>
    </form>
    <p class="hint after-form">
      Or <a href={`/sign-in?${new URLSearchParams({ next: pageAbove(pathname) })}`}>sign in without it</a>: then nothing
      is changed.
    </p>
  </Layout>
)
