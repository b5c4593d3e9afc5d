import { describe, expect, test } from 'bun:test'
import { type ADA, deliveryOf, explain } from '../deliveries/explaining.ts'

describe('a person is called', () => {
  const nameIn = (person: typeof ADA | { firstName: null; email: string | null }) =>
    explain(deliveryOf({ reason: 'unsubscribed' }), person).why
  test('by the first name, the address, or neither', () => {
    expect(nameIn({ firstName: null, email: 'ada@example.com' })).toBe('ada@example.com had unsubscribed.')
    expect(nameIn({ firstName: null, email: null })).toBe('This person had unsubscribed.')
    expect(nameIn({ firstName: `A\n\u202eda${'a'.repeat(99)}`, email: '' })).toBe(
      `A da${'a'.repeat(36)} had unsubscribed.`,
    )
  })
})
