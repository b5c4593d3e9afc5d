import { expect, test } from 'bun:test'
import { errorCode, REFUSALS, type RefusalCode } from '../../src/core/refusals.ts'
import { ERROR_CODES as DOCUMENTED } from '../../src/docs/error-codes.ts'
import { ERROR_CODES } from '../../src/http/answer-schemas.ts'

test('every code of the API has a meaning, a way to correct it and its status in the documentation', () => {
  for (const code of ERROR_CODES) {
    expect([code, DOCUMENTED.get(code)]).toEqual([
      code,
      { status: REFUSALS[code].status, meaning: expect.stringMatching(/\.$/), fix: expect.stringMatching(/\.$/) },
    ])
  }
})

test('the documentation has no other codes than those of refusals and of MCP', () => {
  const known = new Set<string>((Object.keys(REFUSALS) as RefusalCode[]).map(errorCode))
  const others = [...DOCUMENTED.keys()].filter((code) => !known.has(code))
  expect(others.toSorted()).toEqual(['invalid_message', 'tool_not_open'])
  for (const [code, { status }] of DOCUMENTED)
    if (!others.includes(code)) expect([code, status]).toEqual([code, REFUSALS[code as RefusalCode].status])
})
