/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findSignedIn } from '../layout/require-member.tsx'
import { type PageDependencies } from '../layout/viewer.ts'
import { type FormInput, readForm } from '../layout/forms.ts'
import { Layout } from '../layout/layout.tsx'
import { Field } from '../ui/field.tsx'
import { Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Command } from '../ui/text.tsx'
import { checkPassword, withWait } from './password-check.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { askSecondStep } from './second-step.ts'
import { readSessionToken, sessionCookie } from './session-cookie.ts'
import { startSession } from './session-start.ts'

export const signInRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/sign-in', async ({ request }) => {
      const { searchParams } = new URL(request.url)
      const next = searchParams.get('next') ?? '/'
      if (await findSignedIn(deps, request)) return redirectAnswer(next)
      const error = searchParams.has('expired') ? REFUSALS.sign_in_expired.message : undefined
      const isUnsent = searchParams.has('unsent')
      return pageAnswer(request, 200, <SignInPage email="" next={next} error={error} isUnsent={isUnsent} />)
    })
    .post(
      '/sign-in',
      async ({ request }) => {
        const form = await readForm(request)
        return 'refusal' in form ? problemAnswer(request, form.refusal) : signIn(deps, request, form)
      },
      { parse: 'none' },
    )
    .post(
      '/sign-out',
      async ({ request }) => {
        const signedIn = await findSignedIn(deps, request)
        if (signedIn) await deps.sessions.end(signedIn)
        const response = redirectAnswer('/sign-in', [sessionCookie(deps.baseUrl, null)])
        response.headers.set('Clear-Site-Data', '"cache", "storage"')
        return response
      },
      { parse: 'none' },
    )
    // queried by islands/page.ts
    .get('/session', async ({ request }) => {
      const token = readSessionToken(request, deps.baseUrl)
      const signedIn = token === null ? null : await deps.sessions.peek(token)
      return new Response(null, { status: signedIn ? 204 : 401, headers: { 'Cache-Control': 'no-store' } })
    })

async function signIn(deps: PageDependencies, request: Request, form: FormInput): Promise<Response> {
  const [email, next] = [form.text('email'), form.text('next')]
  const refuse = (status: number, message: string): Response =>
    pageAnswer(request, status, <SignInPage email={email} next={next} error={message} />)
  const checked = await checkPassword(deps, request, email, form.text('password'))
  if ('message' in checked) return withWait(refuse(checked.status, checked.message), checked)
  const asked = await askSecondStep(deps, checked)
  if (asked) return redirectAnswer(`/sign-in/code?${new URLSearchParams({ next })}`, [asked])
  const started = await startSession(deps, request, checked)
  if (!started) return refuse(REFUSALS.wrong_password.status, REFUSALS.wrong_password.message)
  return redirectAnswer(next, started.cookies)
}

type SignInProps = {
  email: string
  next: string
  error?: string
  /** an expired form couldn't be preserved (expired-form.tsx) */
  isUnsent?: boolean
}

const SignInPage = ({ email, next, error, isUnsent }: SignInProps) => (
  <Layout title="Sign in" lead="Use your email and password." isNarrow>
    <FormNotices notice={error} />
    {isUnsent && (
      <Notice kind="caution">
        Your session ended before the form was sent, so nothing was changed. Sign in and try again.
      </Notice>
    )}
    <Form action="/sign-in" hidden={{ next }} submit="Sign in">
      <Field name="email" label="Email" kind="email" value={email} autofocus={email === ''} autocomplete="username" />
      <Field
        name="password"
        label="Password"
        kind="password"
        autofocus={email !== ''}
        autocomplete="current-password"
      />
    </Form>
    <p class="hint after-form">
      Forgot your password? The operator of this installation can create a link:{' '}
      <Command>eventpost member reset-password --email EMAIL</Command>
    </p>
  </Layout>
)
