/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findSignedIn } from '../layout/door.tsx'
import { type PageParts } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import { type Form, readForm } from '../layout/forms.ts'
import { withWait } from './password-check.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { findAsked, passSecondStep } from './second-step.ts'
import { SIGN_IN_STEP, SecondStepPage } from './second-step-page.tsx'
import { secondStepCookie } from './session-cookie.ts'

export const signInCodeRoutes = (parts: PageParts) =>
  new Elysia()
    .get('/sign-in/code', async ({ request }) => {
      const { searchParams } = new URL(request.url)
      const next = searchParams.get('next') ?? '/'
      const member = findAsked(parts, request)
      const page = { email: member?.email ?? '', next, isPasswordSet: searchParams.has('set') }
      if (member) return pageAnswer(request, 200, <SecondStepPage {...page} />)
      return (await findSignedIn(parts, request)) ? redirectAnswer(next) : redirectAnswer(signInPath(next))
    })
    .post(
      '/sign-in/code',
      async ({ request }) => {
        const form = await readForm(request)
        return 'refusal' in form ? problemAnswer(request, form.refusal) : takeCode(parts, request, form)
      },
      { parse: 'none' },
    )

const signInPath = (next: string, more: Record<string, string> = {}): string =>
  `/sign-in?${new URLSearchParams({ next, ...more })}`

async function takeCode(parts: PageParts, request: Request, form: Form): Promise<Response> {
  const next = form.text('next')
  const recoveryCode = form.text(SIGN_IN_STEP.recoveryCode)
  const member = findAsked(parts, request)
  const passed = await passSecondStep(parts, request, { code: form.text(SIGN_IN_STEP.code), recoveryCode })
  if ('token' in passed) {
    const told = passed.isByRecoveryCode ? [flashCookie(parts.baseUrl, 'recovery_code_used')] : []
    return redirectAnswer(next, [...passed.cookies, ...told])
  }
  if (!member || passed.isExpired) {
    // may have been completed in another tab
    if (await findSignedIn(parts, request)) return redirectAnswer(next)
    return redirectAnswer(signInPath(next, { expired: '1' }), [secondStepCookie(parts.baseUrl, null)])
  }
  const fault = { message: passed.message, isOfRecovery: recoveryCode !== '' }
  const page = <SecondStepPage email={member.email} next={next} fault={fault} />
  return withWait(pageAnswer(request, passed.status, page), passed)
}
