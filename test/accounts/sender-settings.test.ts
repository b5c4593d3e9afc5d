import { describe, expect, test } from 'bun:test'
import {
  maskSmtpUrl,
  readSender,
  readSenderText,
  type SenderText,
  WEEK,
  writeSender,
} from '../../src/accounts/sender-settings.ts'
import { NO_SETTINGS } from '../../src/store/mail-settings.ts'
import type { MailSettings } from '../../src/store/message-types.ts'

const EMPTY: SenderText = { ...readSenderText(() => ''), days: [...WEEK] }
const read = (changes: Partial<SenderText>) => readSender({ ...EMPTY, ...changes })

describe('typed settings', () => {
  test('may be empty: the current server stays', () => {
    const {
      smtpUrl: _,
      dkimDomain: __,
      dkimSelector: ___,
      dkimKey: ____,
      bounceSecret: _____,
      timezone: ______,
      locale: _______,
      ...rest
    } = NO_SETTINGS
    expect(read({})).toEqual({ settings: rest })
  })

  test.each<[Partial<SenderText>, Partial<MailSettings>]>([
    [{ fromName: ' Ada & Co ' }, { fromName: 'Ada & Co' }],
    [{ fromEmail: ' Hello@Example.COM ' }, { fromEmail: 'hello@example.com' }],
    [{ postalAddress: 'A\r\n\r\n  B  ' }, { postalAddress: 'A\nB' }],
    [{ logoUrl: 'https://example.com/a.png' }, { logoUrl: 'https://example.com/a.png' }],
    [{ colour: '#0A7D4F' }, { colour: '#0a7d4f' }],
    [{ smtpUrl: 'smtps://a:b@smtp.example.com' }, { smtpUrl: 'smtps://a:b@smtp.example.com' }],
    [{ dropsSmtp: true }, { smtpUrl: null }],
    [
      { perSecond: '1000', perPersonDay: '1', perPersonWeek: '500', giveUpHours: '720' },
      { perSecond: 1_000, perPersonDay: 1 },
    ],
    [{ windowFrom: '22:00', windowUntil: '06:00' }, { sendWindow: { days: [...WEEK], from: '22:00', until: '06:00' } }],
    [{ days: [1, 2] }, { sendWindow: { days: [1, 2], from: '00:00', until: '24:00' } }],
  ])('accepts %j', (typed, settings) => expect(read(typed)).toMatchObject({ settings }))

  test.each<[keyof SenderText, string]>([
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
    ['smtpUrl', 'ftp://example.com'],
    ['smtpUrl', 'smtp://'],
    ['perSecond', '0'],
    ['perSecond', '1001'],
    ['perPersonDay', '-1'],
    ['perPersonWeek', '1.5'],
    ['giveUpHours', 'many'],
  ])('refuses %s %j', (field, value) => {
    const reading = read({ [field]: value })
    expect('errors' in reading && reading.errors.map((error) => error.field)).toEqual([field])
  })

  test('hours are both set or unset, and at least one day', () => {
    const faultsOf = (typed: Partial<SenderText>) => {
      const reading = read(typed)
      return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
    }
    expect(faultsOf({ windowFrom: '09:00' })).toEqual(['windowUntil'])
    expect(faultsOf({ windowUntil: '09:00' })).toEqual(['windowFrom'])
    expect(faultsOf({ windowFrom: '24:00', windowUntil: '9:00' })).toEqual(['windowFrom'])
    expect(faultsOf({ windowFrom: '09:00', windowUntil: '09:00' })).toEqual(['windowUntil'])
    expect(faultsOf({ days: [] })).toEqual(['days'])
    expect(faultsOf({ days: [], colour: 'red', perSecond: 'x' })).toEqual(['colour', 'perSecond', 'days'])
  })
})

describe('stored settings', () => {
  test.each<Partial<SenderText>>([
    {},
    { days: [1, 2] },
    { days: [6, 0], windowFrom: '10:00', windowUntil: '12:30' },
    { fromName: 'Ada', fromEmail: 'ada@example.com', postalAddress: 'A\nB', perSecond: '5' },
  ])('round-trip through the form (%j)', (typed) => {
    const reading = read(typed)
    if ('errors' in reading) throw new Error('not taken')
    expect(writeSender({ ...NO_SETTINGS, ...reading.settings })).toEqual({ ...EMPTY, ...typed })
  })

  test('never show a password', () => {
    expect(writeSender({ ...NO_SETTINGS, smtpUrl: 'smtp://a:secret@b.example' }).smtpUrl).toBe('')
    expect(maskSmtpUrl('smtp://ada%40b:sec%20ret@mail.example.com')).toBe('smtp://ada%40b:…@mail.example.com:587')
    expect(maskSmtpUrl('smtps://mail.example.com')).toBe('smtps://mail.example.com:465')
    expect(maskSmtpUrl('secret')).toBe('an address that cannot be read')
  })
})
