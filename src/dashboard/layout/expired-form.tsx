/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { REFUSALS } from '../../core/refusals.ts'
import type { SignedIn } from '../../accounts/sessions.ts'
import { pageAnswer } from './answers.ts'
import type { PageDependencies } from './viewer.ts'
import type { FormInput } from './forms.ts'
import { Layout } from './layout.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { checkPassword, withWait } from '../access/password-check.ts'
import { pageAbove } from './forms.ts'
import { askSecondStep, findAsked, passSecondStep } from '../access/second-step.ts'
import { SecondStepFields } from '../access/second-step-page.tsx'
import { startSession } from '../access/session-start.ts'

/** Field names next to those of the expired form. */
const EMAIL = 'signInEmail'
const PASSWORD = 'signInPassword'
const STEP = { code: 'signInCode', recoveryCode: 'signInRecoveryCode' } as const

/** `fields` are the form's own. */
type Resumed = { signedIn: SignedIn; cookies: string[]; fields: FormInput['fields']; isByRecoveryCode: boolean }

/**
 * Shows sign-in pages for a form whose session expired and resubmits it afterwards. `fields` never contain a password.
 */
export async function signInExpired(
  deps: PageDependencies,
  request: Request,
  {
    [EMAIL]: email,
    [PASSWORD]: password,
    [STEP.code]: code,
    [STEP.recoveryCode]: recoveryCode = '',
    ...fields
  }: FormInput['fields'],
): Promise<Resumed | Response> {
  const ask = (status: number, error?: string): Response =>
    pageAnswer(request, status, <ExpiredFormPage url={new URL(request.url)} {...{ fields, email, error }} />)
  if (code !== undefined) return resumeByCode(deps, request, { typed: { code, recoveryCode }, fields, ask })
  if (email === undefined || password === undefined) return ask(401)
  const checked = await checkPassword(deps, request, email, password)
  if ('message' in checked) return withWait(ask(checked.status, checked.message), checked)
  const asked = await askSecondStep(deps, checked)
  const page = { url: new URL(request.url), fields, email: checked.member.email }
  if (asked) return pageAnswer(request, 401, <ExpiredFormCodePage {...page} />, [asked])
  const started = await startSession(deps, request, checked)
  const resumed = started && (await resumeForm(deps, started, fields))
  return resumed ?? ask(REFUSALS.wrong_password.status, REFUSALS.wrong_password.message)
}

type Started = { token: string; cookies: string[]; isByRecoveryCode?: boolean }

async function resumeForm(
  { sessions }: Pick<PageDependencies, 'sessions'>,
  started: Started,
  fields: FormInput['fields'],
): Promise<Resumed | null> {
  const { token, cookies, isByRecoveryCode = false } = started
  const signedIn = await sessions.find(token)
  return signedIn && { signedIn, cookies, fields, isByRecoveryCode }
}

type Passing = {
  typed: { code: string; recoveryCode: string }
  fields: FormInput['fields']
  ask: (status: number, error: string) => Response
}

async function resumeByCode(
  deps: PageDependencies,
  request: Request,
  { typed, fields, ask }: Passing,
): Promise<Resumed | Response> {
  const member = findAsked(deps, request)
  const passed = await passSecondStep(deps, request, typed)
  if ('token' in passed) {
    const { status, message } = REFUSALS.sign_in_expired
    return (await resumeForm(deps, passed, fields)) ?? ask(status, message)
  }
  if (!member || passed.isExpired) return ask(passed.status, passed.message)
  const fault = { message: passed.message, isOfRecovery: typed.recoveryCode !== '' }
  const page = <ExpiredFormCodePage {...{ url: new URL(request.url), fields, email: member.email, fault }} />
  return withWait(pageAnswer(request, passed.status, page), passed)
}

type FrameProps = { url: URL; fields: Record<string, string>; error?: string; children: ComponentChildren }

const ExpiredFormFrame = ({ url: { pathname, search }, fields, error, children }: FrameProps) => (
  <Layout title="Sign in" lead="Your session ended before the form was sent. Sign in to send it." isNarrow>
    <Form action={pathname + search} hidden={fields} notice={error}>
      {children}
    </Form>
    <p class="hint after-form">
      Or <a href={`/sign-in?${new URLSearchParams({ next: pageAbove(pathname) })}`}>sign in without sending it</a>.
    </p>
  </Layout>
)

const ExpiredFormPage = ({ email = '', ...frame }: Omit<FrameProps, 'children'> & { email?: string }) => (
  <ExpiredFormFrame {...frame}>
    <Field name={EMAIL} label="Email" kind="email" value={email} autofocus={email === ''} autocomplete="username" />
    <Field name={PASSWORD} label="Password" kind="password" autofocus={email !== ''} autocomplete="current-password" />
    <Button kind="primary">Sign in and send it</Button>
  </ExpiredFormFrame>
)

type CodeProps = Pick<FrameProps, 'url' | 'fields'> & {
  email: string
  fault?: { message: string; isOfRecovery: boolean }
}

const ExpiredFormCodePage = ({ email, fault, ...frame }: CodeProps) => (
  <ExpiredFormFrame {...frame}>
    <SecondStepFields email={email} names={STEP} button="Sign in and send it" fault={fault} />
  </ExpiredFormFrame>
)
