import { describe, expect, test } from 'bun:test'
import { describeFlash, readFlash } from '../../../src/dashboard/layout/flash.ts'

const BASE_URL = 'http://localhost:3000'

const say = (cookie: string) => {
  const request = new Request(BASE_URL, { headers: { Cookie: `eventpost_flash=${cookie}` } })
  return describeFlash(readFlash(request, BASE_URL), { accountName: 'Acme', role: 'owner' })
}

describe('a flash message', () => {
  test('has codes and counts', () => {
    expect(say('message_saved')).toEqual({ kind: 'done', text: 'The message was saved.' })
    expect(say('addresses_added-1200.addresses_listed-1.still_sending')).toEqual({
      kind: 'caution',
      text: '1200 addresses were added. 1 was already on the list. Emails that were already with the mail server may still arrive.',
    })
    expect(say('lines_skipped-9-2-5')?.text).toBe('9 lines had no email address (lines 2, 5, …).')
  })

  test.each([
    'nothing',
    'message_saved-1',
    'addresses_added',
    'addresses_added-',
    'addresses_added-x',
    'addresses_added-12345678',
    'addresses_added--1',
    'lines_skipped-9-1-2-3-4-5-6',
    'toString-1',
    'constructor',
  ])('says nothing of what it does not know (%s)', (cookie) => expect(say(cookie)).toBe(null))
})
