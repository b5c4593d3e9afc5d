import { describe, expect, test } from 'bun:test'
import {
  type Cause,
  describeCause,
  mayResubscribe,
  outweighs,
  readSuppressionList,
  type SuppressionListText,
  type SuppressionReason,
} from '../../src/people/suppressions.ts'
import { SUPPRESSION_REASONS } from '../../src/store/message-types.ts'

test('anything replaces no suppression', () => {
  for (const reason of SUPPRESSION_REASONS) {
    expect([outweighs(reason, null), outweighs(reason, 'subscribed')]).toEqual([true, true])
  }
})

test('a bounce replaces unsubscribing, a complaint replaces both, and nothing weaker or equal replaces anything', () => {
  const replacing = (current: (typeof SUPPRESSION_REASONS)[number]) =>
    SUPPRESSION_REASONS.filter((reason) => outweighs(reason, current))
  expect(replacing('unsubscribed')).toEqual(['bounced', 'complained'])
  expect([replacing('bounced'), replacing('complained')]).toEqual([['complained'], []])
})

test('people take back only what they chose themselves, in the last 30 days', () => {
  const DAY = 86_400_000
  const own = { at: 0, actor: null, status: 'unsubscribed' as const }
  expect([0, 30 * DAY, 30 * DAY + 1].map((at) => mayResubscribe('unsubscribed', own, at))).toEqual([true, true, false])
  expect(mayResubscribe('unsubscribed', { ...own, actor: 'mem_1' }, 1)).toBe(false)
  expect(mayResubscribe('unsubscribed', { ...own, status: 'subscribed' }, 1)).toBe(false)
  expect(mayResubscribe('unsubscribed', null, 1)).toBe(false)
  expect([mayResubscribe('bounced', own, 1), mayResubscribe('complained', own, 1)]).toEqual([false, false])
  expect(mayResubscribe('subscribed', null, 1)).toBe(true)
})

test.each<[Cause, string]>([
  [
    { by: 'report', kind: 'bounced', provider: 'postmark', text: '550 no such user' },
    'Postmark reported a hard bounce: “550 no such user”',
  ],
  [{ by: 'report', kind: 'complained', provider: null }, 'Your server reported a spam complaint'],
  [{ by: 'softBounces', count: 3, days: 14 }, '3 soft bounces within 14 days'],
  [
    { by: 'refusal', delivery: 'dlv_1', text: '550 5.1.1' },
    'The mail server has no such mailbox (it replied 550 5.1.1)',
  ],
  [{ by: 'list', provider: 'postmark', text: 'HardBounce' }, "On Postmark's suppression list: “HardBounce”"],
  [{ by: 'list', provider: null }, "On the email provider's suppression list"],
  [{ by: 'member', actor: 'mem_1', text: 'They asked' }, 'By mem_1: “They asked”'],
  [{ by: 'link' }, 'By the person, from an email'],
])('%j is described', (cause, text) => expect(describeCause(cause, (actor) => actor)).toBe(text))

test.each([
  ['complained', 'bounced', 'unsubscribed'],
  ['unsubscribed', 'bounced', 'complained'],
])('an address that a file has as %s, %s and %s gets the strongest reason', async (...reasons) => {
  const file = reasons.map((reason) => `ada@example.com,${reason}\n`).join('')
  const reading = await readSuppressionList({ addresses: 'ada@example.com', file, why: 'moved', reason: 'bounced' })
  expect(reading).toMatchObject({ input: { rows: [{ email: 'ada@example.com', reason: 'complained' }] } })
})

test.each<[SuppressionReason[], SuppressionReason, boolean]>([
  [['unsubscribed', 'bounced'], 'bounced', true],
  [['bounced', 'unsubscribed'], 'bounced', true],
  [['bounced', 'unsubscribed', 'complained'], 'complained', true],
  [['bounced', 'complained'], 'complained', false],
])('an address that a file has as %j is %s; unsubscribed: %p', async (reasons, reason, isUnsubscribed) => {
  const file = reasons.map((one) => `ada@example.com,${one}\n`).join('')
  const reading = await readSuppressionList({ addresses: '', file, why: 'moved', reason: 'bounced' })
  expect('input' in reading && reading.input.rows).toEqual([{ email: 'ada@example.com', reason, isUnsubscribed }])
})

test('an exported mailbox with a name is read', async () => {
  const text = {
    addresses: '',
    file: 'Name,Why\n"Rob" <rob@block.example>,x\nnobody,x\n',
    why: 'moved',
    reason: 'bounced',
  }
  const reading = await readSuppressionList(text)
  expect('input' in reading && reading.input).toMatchObject({
    rows: [{ email: 'rob@block.example', reason: 'bounced' }],
    wrongLines: [1, 3],
  })
})

describe('a long list', () => {
  /** How often other work came in between. */
  const readCounting = async (text: Partial<SuppressionListText>) => {
    let [turns, isOver] = [0, false]
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const reading = await readSuppressionList({ addresses: '', file: '', why: 'moved', reason: 'bounced', ...text })
    isOver = true
    return { reading, turns }
  }
  const addresses = (count: number): string =>
    Array.from({ length: count }, (_, index) => `p${index}@example.com`).join('\n')

  test.each(['addresses', 'file'] as const)('is read in parts: %s', async (field) => {
    const { reading, turns } = await readCounting({ [field]: addresses(20_000) })
    expect('input' in reading && reading.input.rows.length).toBe(20_000)
    expect(turns).toBeGreaterThanOrEqual(15)
  })

  test.each<[string, Partial<SuppressionListText>, string, string]>([
    ['typed addresses', { addresses: addresses(150_000) }, 'addresses', 'Enter up to 100,000 addresses.'],
    ['addresses of a file', { file: addresses(150_000) }, 'file', 'Enter up to 100,000 addresses.'],
    ['lines', { file: 'a\n'.repeat(2_000_000) }, 'file', 'More than 100,000 lines have no email address.'],
    ['blank lines', { file: '\n'.repeat(2_000_000) }, 'file', 'More than 100,000 lines have no email address.'],
    ['typed blank lines', { addresses: '\n'.repeat(2_000_000) }, 'addresses', 'Enter up to 100,000 addresses.'],
  ])('ends at the limit: %s', async (_, text, field, message) => {
    const { reading, turns } = await readCounting(text)
    expect(reading).toEqual({ errors: [{ field, code: 'too_long', message }] })
    expect(turns).toBeLessThan(250)
  })
})
