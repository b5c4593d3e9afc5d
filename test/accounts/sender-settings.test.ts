import { describe, expect, test } from 'bun:test'
import {
  type FromText,
  type LimitsText,
  pickForm,
  readFrom,
  readFromText,
  readLimits,
  readLimitsText,
  WEEK,
  writeFrom,
  writeLimits,
} from '../../src/accounts/sender-settings.ts'
import { NO_SETTINGS } from '../../src/store/mail-settings.ts'
import type { MailSettings } from '../../src/store/message-types.ts'

const NO_FROM: FromText = readFromText(() => '')
const NO_LIMITS: LimitsText = { ...readLimitsText(() => ''), days: [...WEEK] }
const from = (changes: Partial<FromText>) => readFrom({ ...NO_FROM, ...changes })
const limits = (changes: Partial<LimitsText>) => readLimits({ ...NO_LIMITS, ...changes })

describe('typed settings', () => {
  test('may be empty, and each form has only its own', () => {
    expect(from({})).toMatchObject({ settings: pickForm('from', NO_SETTINGS) })
    expect(limits({})).toMatchObject({ settings: pickForm('limits', NO_SETTINGS) })
    const names = (
      ['from', 'layout', 'texts', 'server', 'limits', 'brake', 'dkim', 'reports', 'webhooks', 'optIn'] as const
    ).flatMap((form) => Object.keys(pickForm(form, NO_SETTINGS)))
    expect(names.toSorted()).toEqual(
      Object.keys(NO_SETTINGS)
        .filter((name) => name !== 'timezone' && name !== 'locale')
        .toSorted(),
    )
  })

  test.each<[Partial<FromText>, Partial<MailSettings>]>([
    [{ fromName: ' Ada & Co ' }, { fromName: 'Ada & Co' }],
    [{ fromEmail: ' Hello@Example.COM ' }, { fromEmail: 'hello@example.com' }],
    [{ postalAddress: 'A\r\n\r\n  B  ' }, { postalAddress: 'A\nB' }],
    [{ logoUrl: 'https://example.com/a.png' }, { logoUrl: 'https://example.com/a.png' }],
    [{ colour: '#0A7D4F' }, { colour: '#0a7d4f' }],
  ])('accepts %j', (typed, settings) => expect(from(typed)).toMatchObject({ settings }))

  test.each<[Partial<LimitsText>, Partial<MailSettings>]>([
    [
      { perSecond: '1000', connections: '10', perPersonDay: '1', perPersonWeek: '500', giveUpHours: '720' },
      { perSecond: 1_000, connections: 10, perPersonDay: 1, perPersonWeek: 500, giveUpHours: 720 },
    ],
    [{ windowFrom: '22:00', windowUntil: '06:00' }, { sendWindow: { days: [...WEEK], from: '22:00', until: '06:00' } }],
    [{ days: [1, 2] }, { sendWindow: { days: [1, 2], from: '00:00', until: '24:00' } }],
  ])('accepts %j', (typed, settings) => expect(limits(typed)).toMatchObject({ settings }))

  test.each<[keyof FromText, string]>([
    ['fromName', 'x'.repeat(65)],
    ['fromName', 'a\u202Eb'],
    ['fromEmail', 'Ada <ada@example.com>'],
    ['fromEmail', 'a@example.com, b@example.com'],
    ['replyTo', 'nobody'],
    ['postalAddress', 'x'.repeat(301)],
    ['logoUrl', 'http://example.com/a.png'],
    ['logoUrl', 'javascript:alert(1)'],
    ['logoUrl', 'https://user:pass@example.com/'],
    ['colour', 'red'],
    ['colour', '#fff;background:url(x)'],
  ])('refuses %s %j', (field, value) => {
    const reading = from({ [field]: value })
    expect('errors' in reading && reading.errors.map((error) => error.field)).toEqual([field])
  })

  test.each<[keyof LimitsText, string]>([
    ['perSecond', '0'],
    ['perSecond', '1001'],
    ['connections', '0'],
    ['connections', '11'],
    ['perPersonDay', '-1'],
    ['perPersonWeek', '1.5'],
    ['giveUpHours', 'many'],
  ])('refuses %s %j', (field, value) => {
    const reading = limits({ [field]: value })
    expect('errors' in reading && reading.errors.map((error) => error.field)).toEqual([field])
  })

  test('hours are both set or unset, and at least one day', () => {
    const faultsOf = (typed: Partial<LimitsText>) => {
      const reading = limits(typed)
      return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
    }
    expect(faultsOf({ windowFrom: '09:00' })).toEqual(['windowUntil'])
    expect(faultsOf({ windowUntil: '09:00' })).toEqual(['windowFrom'])
    expect(faultsOf({ windowFrom: '24:00', windowUntil: '9:00' })).toEqual(['windowFrom'])
    expect(faultsOf({ windowFrom: '09:00', windowUntil: '09:00' })).toEqual(['windowUntil'])
    expect(faultsOf({ days: [] })).toEqual(['days'])
    expect(faultsOf({ days: [], perSecond: 'x' })).toEqual(['days', 'perSecond'])
  })
})

describe('stored settings', () => {
  test.each<Partial<LimitsText>>([
    {},
    { days: [1, 2] },
    { days: [6, 0], windowFrom: '10:00', windowUntil: '12:30' },
    { perSecond: '5', connections: '3' },
  ])('round-trip through the form of limits (%j)', (typed) => {
    const reading = limits(typed)
    if ('errors' in reading) throw new Error('not taken')
    expect(writeLimits(reading.settings)).toEqual({ ...NO_LIMITS, ...typed })
  })

  test('round-trip through the form of the sender', () => {
    const typed = {
      fromName: 'Ada',
      fromEmail: 'ada@example.com',
      postalAddress: 'A\nB',
      otherFromEmails: 'b@x.example',
    }
    const reading = from(typed)
    if ('errors' in reading) throw new Error('not taken')
    expect(writeFrom(reading.settings)).toEqual({ ...NO_FROM, ...typed })
  })
})
