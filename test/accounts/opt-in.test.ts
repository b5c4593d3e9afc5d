import { expect, test } from 'bun:test'
import {
  DEFAULT_TEXT,
  type OptInForm,
  readOptIn,
  readOptInForm,
  textOf,
  versionOf,
  writeOptIn,
  writeRequest,
} from '../../src/accounts/opt-in.ts'

const DEFAULTS = { isOn: true, days: null, storesIp: false, subject: null, body: null, button: null }
const formOf = (changes: Partial<OptInForm> = {}): OptInForm => ({ ...writeOptIn(null), isOn: true, ...changes })

test('what is left as it is, or emptied, stays the default', () => {
  expect(readOptIn(formOf())).toEqual({ settings: { optIn: DEFAULTS } })
  expect(readOptIn(formOf({ days: '', subject: ' ', body: '\r\n', button: '' }))).toEqual({
    settings: { optIn: DEFAULTS },
  })
  expect(textOf(DEFAULTS)).toEqual(DEFAULT_TEXT)
})

test('own texts are kept, and the form shows them again', () => {
  const own = { days: '3', subject: 'Ja?', body: 'Hallo\r\nAda', button: 'Bestätigen', storesIp: true }
  const reading = readOptIn(formOf(own))
  const optIn = { isOn: true, days: 3, storesIp: true, subject: 'Ja?', body: 'Hallo\nAda', button: 'Bestätigen' }
  expect(reading).toEqual({ settings: { optIn } })
  const shown: Record<string, unknown> = { ...writeOptIn(optIn), isOn: 'on', storesIp: '' }
  expect(readOptInForm((name) => String(shown[name]))).toEqual({ ...writeOptIn(optIn), storesIp: false })
})

test.each<[field: keyof OptInForm, text: string]>([
  ['days', '0'],
  ['days', '31'],
  ['days', '1.5'],
  ['subject', 'x'.repeat(301)],
  ['subject', 'a\u0000b'],
  ['body', 'x'.repeat(5_001)],
  ['button', 'x'.repeat(61)],
  ['button', 'Go](https://evil.example)'],
])('%s can not be %j', (field, text) => {
  expect(readOptIn(formOf({ [field]: text }))).toMatchObject({ errors: [{ field }] })
})

test('each wording has a version, and its button is always in the email', () => {
  const versions = [DEFAULT_TEXT, { ...DEFAULT_TEXT, button: 'Yes' }, { ...DEFAULT_TEXT, body: 'Yes?' }].map(versionOf)
  expect(new Set(versions).size).toBe(3)
  expect(versionOf({ ...DEFAULT_TEXT })).toBe(versions[0] ?? '')
  expect(writeRequest({ subject: 'S', body: 'B', button: 'Yes' })).toEqual({
    subject: 'S',
    body: 'B\n\n[Yes]({{ confirmUrl }})',
    category: 'transactional',
  })
})
