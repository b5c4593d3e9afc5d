import { expect } from 'bun:test'
import { LIMIT_NAMES, type LimitName, type RefusalCode, REFUSALS } from '../../src/core/refusals.ts'
import type { Answer, TestServer } from '../helper.ts'

const REQUEST_ID = expect.stringMatching(/^req_[0-9a-z]{18}$/)
export const PERSON_ID = expect.stringMatching(/^con_[0-9a-z]{11}$/)
export const EVENT_ID = expect.stringMatching(/^evt_[0-9a-z]{11}$/)

/** The whole body of a refusal; the sentence is the table's unless another is given. */
export const no = (error: RefusalCode, more: Record<string, unknown> = {}) => ({
  ok: false,
  error,
  message: REFUSALS[error].message,
  requestId: REQUEST_ID,
  ...more,
})

type UsedUp = { limitName: LimitName; limit: number; retryAfter: number; keyId?: string }

/** The whole body of a 429 that a request just got: which limit, of which key or else of an address, and until when. */
export function usedUp({ clock }: Pick<TestServer, 'clock'>, { keyId, ...limited }: UsedUp) {
  const { limitName, limit, retryAfter } = limited
  const retryAt = new Date((Math.ceil(clock.now() / 1_000) + retryAfter) * 1_000).toISOString()
  const owner = keyId === undefined ? 'The address (?:[0-9a-f.:/]+|in `ip`)' : `The key "[^"]+" \\(${keyId}\\)`
  const what = `${limit.toLocaleString('en')} ${LIMIT_NAMES[limitName]}`
  const message = new RegExp(`^${owner} has reached its limit of ${what}\\. .* at ${retryAt.slice(11, 19)} UTC\\.$`)
  const whose = keyId === undefined ? { scope: 'ip' } : { scope: 'key', keyId }
  return no('rate_limited', { ...whose, ...limited, retryAt, message: expect.stringMatching(message) })
}

/** The whole body of a 400 that names one field. */
export const wrongField = (field: string, message: string) => no('invalid_field', { field, message })

/** An answer that says no in the one shape that refusals have, and nothing more than it should. */
export function expectRefusal({ status, body, headers, text }: Answer, expected: [number, Record<string, unknown>]) {
  expect([status, body]).toEqual(expected)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('x-request-id')).toBe(String(body.requestId))
  expect(text).not.toMatch(/node_modules|\.tsx?\b|\\n\s+at |\/work\/|\/tmp\//)
}

export const codeOf = ({ status, body }: Answer): string => `${status} ${String(body.error ?? body.ok)}`
