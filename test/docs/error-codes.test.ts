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

test('the documentation, which Requests shows, says it in the words of the API', () => {
  // `Invalid API key` and `Invalid signature` are fixed; the others name one of several causes
  const others = [
    'invalid_api_key',
    'invalid_signature',
    'signature_expired',
    'origin_not_allowed',
    'delivery_in_use',
    'insufficient_scope',
  ]
  const plain = (text = ''): string => text.replaceAll('`', '')
  const differing: string[] = ERROR_CODES.filter(
    (code) => !plain(REFUSALS[code].message).startsWith(plain(DOCUMENTED.get(code)?.meaning)),
  )
  expect(differing.toSorted()).toEqual([...others, 'unsupported_media_type'].toSorted())
})
