/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findSignedIn } from '../layout/require-member.tsx'
import { type PageDependencies } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import { type FormInput, readForm } from '../layout/forms.ts'
import { withWait } from './password-check.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { findAsked, passSecondStep } from './second-step.ts'
import { SIGN_IN_STEP, SecondStepPage } from './second-step-page.tsx'
import { secondStepCookie } from './session-cookie.ts'

export const signInCodeRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/sign-in/code', async ({ request }) => {
      const { searchParams } = new URL(request.url)
      const next = searchParams.get('next') ?? '/'
      const member = findAsked(deps, request)
      const page = { email: member?.email ?? '', next, isPasswordSet: searchParams.has('set') }
      if (member) return pageAnswer(request, 200, <SecondStepPage {...page} />)
      return (await findSignedIn(deps, request)) ? redirectAnswer(next) : redirectAnswer(signInPath(next))
    })
    .post(
      '/sign-in/code',
      async ({ request }) => {
        const form = await readForm(request)
        return 'refusal' in form ? problemAnswer(request, form.refusal) : takeCode(deps, request, form)
      },
      { parse: 'none' },
    )

const signInPath = (next: string, more: Record<string, string> = {}): string =>
  `/sign-in?${new URLSearchParams({ next, ...more })}`

async function takeCode(deps: PageDependencies, request: Request, form: FormInput): Promise<Response> {
  const next = form.text('next')
  const recoveryCode = form.text(SIGN_IN_STEP.recoveryCode)
  const member = findAsked(deps, request)
  const passed = await passSecondStep(deps, request, { code: form.text(SIGN_IN_STEP.code), recoveryCode })
  if ('token' in passed) {
    const flash = passed.isByRecoveryCode ? [flashCookie(deps.baseUrl, 'recovery_code_used')] : []
    return redirectAnswer(next, [...passed.cookies, ...flash])
  }
  if (!member || passed.isExpired) {
    // may have been completed in another tab
    if (await findSignedIn(deps, request)) return redirectAnswer(next)
    return redirectAnswer(signInPath(next, { expired: '1' }), [secondStepCookie(deps.baseUrl, null)])
  }
  const fault = { message: passed.message, isOfRecovery: recoveryCode !== '' }
  const page = <SecondStepPage email={member.email} next={next} fault={fault} />
  return withWait(pageAnswer(request, passed.status, page), passed)
}
