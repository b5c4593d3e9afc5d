import { REFUSALS } from '../../core/refusals.ts'
import { factsOf } from '../../http/request-facts.ts'
import type { MemberRow } from '../../accounts/sessions.ts'
import type { TooMany } from '../../accounts/sign-in-tries.ts'
import type { PageDependencies } from '../layout/viewer.ts'
import { readKnownMark } from './session-cookie.ts'

type Checked =
  { member: MemberRow; passwordHash: string } | { status: number; message: string; retryAfterSeconds?: number }

export async function checkPassword(
  deps: PageDependencies,
  request: Request,
  email: string,
  password: string,
): Promise<Checked> {
  const address = factsOf(request).address()
  const checked = await deps.signIns.check({ email, password, address, known: readKnownMark(request, deps.baseUrl) })
  if (!('refusal' in checked)) return checked
  const { status, message } = REFUSALS[checked.refusal]
  if (checked.refusal !== 'too_many_tries') return { status, message }
  return { status, retryAfterSeconds: checked.retryAfterSeconds, message: describeWait('passwords', checked) }
}

const WAYS = new Intl.ListFormat('en', { type: 'disjunction' })

/** How long to wait, and how to sign in without waiting. */
export function describeWait(
  what: 'passwords' | 'codes' | 'recovery codes',
  { retryAfterSeconds, isKnown }: Pick<TooMany, 'retryAfterSeconds' | 'isKnown'>,
  instead: string | null = null,
): string {
  const wait = retryAfterSeconds === 1 ? 'a second' : `${retryAfterSeconds} seconds`
  const elsewhere = isKnown ? null : 'use a browser that you have signed in with before'
  const ways = [`Try again in ${wait}`, instead, elsewhere].filter((way) => way !== null)
  return `Too many wrong ${what}. ${WAYS.format(ways)}.`
}

/** Adds Retry-After when there were too many attempts. */
export function withWait(response: Response, { retryAfterSeconds }: { retryAfterSeconds?: number }): Response {
  if (retryAfterSeconds) response.headers.set('Retry-After', String(retryAfterSeconds))
  return response
}

export async function checkOwnPassword(
  deps: PageDependencies,
  request: Request,
  { email }: MemberRow,
  password: string,
): Promise<Checked> {
  const checked = await checkPassword(deps, request, email, password)
  const isWrong = 'message' in checked && checked.message === REFUSALS.wrong_password.message
  return isWrong ? { ...checked, message: 'This password is wrong.' } : checked
}
