import { REFUSALS } from '../../core/refusals.ts'
import { factsOf } from '../../http/request-facts.ts'
import type { WrongStep } from '../../accounts/second-steps.ts'
import type { MemberRow, Proof } from '../../accounts/sessions.ts'
import type { PageDependencies } from '../layout/viewer.ts'
import { describeWait } from './password-check.ts'
import { readKnownMark, readSecondStepToken, secondStepCookie } from './session-cookie.ts'
import { startSession } from './session-start.ts'

export type TypedStep = { code: string; recoveryCode: string }

export type StepFault = { status: number; message: string; retryAfterSeconds?: number; isExpired?: true }

/** Starts the second step; null if the member has none. */
export async function askSecondStep(
  { signIns, baseUrl }: Pick<PageDependencies, 'signIns' | 'baseUrl'>,
  proof: Proof,
): Promise<string | null> {
  const token = await signIns.secondSteps.ask(proof)
  return token === null ? null : secondStepCookie(baseUrl, token)
}

/** The member whose sign-in waits for a code in this browser. */
export const findAsked = (
  { signIns, baseUrl }: Pick<PageDependencies, 'signIns' | 'baseUrl'>,
  request: Request,
): MemberRow | null => signIns.secondSteps.findMember(readSecondStepToken(request, baseUrl) ?? '')

/** Completes the waiting sign-in, or returns an error for the field. */
export async function passSecondStep(
  deps: PageDependencies,
  request: Request,
  { code, recoveryCode }: TypedStep,
): Promise<{ token: string; cookies: string[]; isByRecoveryCode: boolean } | StepFault> {
  const passed = await deps.signIns.secondSteps.pass({
    token: readSecondStepToken(request, deps.baseUrl) ?? '',
    typed: recoveryCode || code,
    address: factsOf(request).address(),
    known: readKnownMark(request, deps.baseUrl),
  })
  if ('refusal' in passed) return toFault(passed)
  const started = await startSession(deps, request, passed)
  // the password was changed meanwhile
  if (!started) return toFault({ refusal: 'sign_in_expired' })
  const cookies = [...started.cookies, secondStepCookie(deps.baseUrl, null)]
  return { token: started.token, cookies, isByRecoveryCode: passed.isByRecoveryCode }
}

/** Checks the code that confirms a change; null if correct or not required. */
export async function confirmSecondStep(
  deps: PageDependencies,
  request: Request,
  member: MemberRow,
  typed: string,
): Promise<StepFault | null> {
  const confirmed = await deps.signIns.secondSteps.confirm(member, {
    typed,
    address: factsOf(request).address(),
    known: readKnownMark(request, deps.baseUrl),
  })
  return confirmed && 'refusal' in confirmed ? toFault(confirmed) : null
}

function toFault(wrong: WrongStep): StepFault {
  const { status, message } = REFUSALS[wrong.refusal]
  if (wrong.refusal === 'sign_in_expired') return { status, message, isExpired: true }
  if (wrong.refusal !== 'too_many_tries') return { status, message }
  const [what, instead] = WAITS[wrong.kind]
  return {
    status,
    retryAfterSeconds: wrong.retryAfterSeconds,
    message: describeWait(what, wrong, wrong.mayTryOther ? instead : null),
  }
}

/** The wait after too many codes, and alternatives. */
const WAITS = {
  code: ['codes', 'use a recovery code'],
  'recovery-code': ['recovery codes', 'use a code from your authenticator app'],
} as const
