/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { REFUSALS } from '../../core/refusals.ts'
import type { SignedIn } from '../../accounts/sessions.ts'
import { pageAnswer } from './answers.ts'
import type { PageParts } from './viewer.ts'
import type { Form } from './forms.ts'
import { Layout } from './layout.tsx'
import { Button, HiddenFields } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { checkPassword, withWait } from '../access/password-check.ts'
import { pageAbove } from './paths.ts'
import { askSecondStep, findAsked, passSecondStep } from '../access/second-step.ts'
import { SecondStepFields } from '../access/second-step-page.tsx'
import { startSession } from '../access/session-start.ts'

/** Field names next to those of the expired form. */
const EMAIL = 'signInEmail'
const PASSWORD = 'signInPassword'
const STEP = { code: 'signInCode', recoveryCode: 'signInRecoveryCode' } as const

/** `fields` are the form's own. */
type Late = { signedIn: SignedIn; cookies: string[]; fields: Form['fields']; isByRecoveryCode: boolean }

/**
 * Shows sign-in pages for a form whose session expired and resubmits it afterwards. `fields` never contain a password.
 */
export async function signInLate(
  parts: PageParts,
  request: Request,
  {
    [EMAIL]: email,
    [PASSWORD]: password,
    [STEP.code]: code,
    [STEP.recoveryCode]: recoveryCode = '',
    ...fields
  }: Form['fields'],
): Promise<Late | Response> {
  const ask = (status: number, error?: string): Response =>
    pageAnswer(request, status, <LatePage url={new URL(request.url)} {...{ fields, email, error }} />)
  if (code !== undefined) return passLate(parts, request, { typed: { code, recoveryCode }, fields, ask })
  if (email === undefined || password === undefined) return ask(401)
  const checked = await checkPassword(parts, request, email, password)
  if ('message' in checked) return withWait(ask(checked.status, checked.message), checked)
  const asked = await askSecondStep(parts, checked)
  const page = { url: new URL(request.url), fields, email: checked.member.email }
  if (asked) return pageAnswer(request, 401, <LateCodePage {...page} />, [asked])
  const started = await startSession(parts, request, checked)
  const late = started && (await toLate(parts, started, fields))
  return late ?? ask(REFUSALS.wrong_password.status, REFUSALS.wrong_password.message)
}

type Started = { token: string; cookies: string[]; isByRecoveryCode?: boolean }

async function toLate({ sessions }: PageParts, started: Started, fields: Form['fields']): Promise<Late | null> {
  const { token, cookies, isByRecoveryCode = false } = started
  const signedIn = await sessions.find(token)
  return signedIn && { signedIn, cookies, fields, isByRecoveryCode }
}

type Passing = {
  typed: { code: string; recoveryCode: string }
  fields: Form['fields']
  ask: (status: number, error: string) => Response
}

async function passLate(parts: PageParts, request: Request, { typed, fields, ask }: Passing): Promise<Late | Response> {
  const member = findAsked(parts, request)
  const passed = await passSecondStep(parts, request, typed)
  if ('token' in passed) {
    const { status, message } = REFUSALS.sign_in_expired
    return (await toLate(parts, passed, fields)) ?? ask(status, message)
  }
  if (!member || passed.isExpired) return ask(passed.status, passed.message)
  const fault = { message: passed.message, isOfRecovery: typed.recoveryCode !== '' }
  const page = <LateCodePage {...{ url: new URL(request.url), fields, email: member.email, fault }} />
  return withWait(pageAnswer(request, passed.status, page), passed)
}

type FrameProps = { url: URL; fields: Record<string, string>; error?: string; children: ComponentChildren }

const LateFrame = ({ url: { pathname, search }, fields, error, children }: FrameProps) => (
  <Layout
    title="Sign in"
    lead="You were signed out before this was sent. It is kept here, and sent when you sign in."
    isNarrow
  >
    {error && <Notice kind="error">{error}</Notice>}
    <form method="post" action={pathname + search} novalidate>
      <HiddenFields fields={fields} />
      {children}
    </form>
    <p class="hint after-form">
      Or <a href={`/sign-in?${new URLSearchParams({ next: pageAbove(pathname) })}`}>sign in without it</a>: then nothing
      is changed.
    </p>
  </Layout>
)

const LatePage = ({ email = '', ...frame }: Omit<FrameProps, 'children'> & { email?: string }) => (
  <LateFrame {...frame}>
    <Field name={EMAIL} label="Email" kind="email" value={email} autofocus={email === ''} autocomplete="username" />
    <Field name={PASSWORD} label="Password" kind="password" autofocus={email !== ''} autocomplete="current-password" />
    <Button kind="primary">Sign in and send it</Button>
  </LateFrame>
)

type CodeProps = Pick<FrameProps, 'url' | 'fields'> & {
  email: string
  fault?: { message: string; isOfRecovery: boolean }
}

const LateCodePage = ({ email, fault, ...frame }: CodeProps) => (
  <LateFrame {...frame}>
    <SecondStepFields email={email} names={STEP} button="Sign in and send it" fault={fault} />
  </LateFrame>
)
