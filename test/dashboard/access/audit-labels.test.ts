import { expect, test } from 'bun:test'
import { describeAction } from '../../../src/dashboard/access/audit-labels.ts'

const NAMES = { members: [], keys: [], apps: [], messages: [] }
const ENTRY = { id: '1', accountId: '1', createdAt: 0, actor: 'cli', action: 'mail.set', address: null, count: 1 }

test.each([
  ['fromName, postalAddress, sendWindow', 'Name, Postal address, Sending hours'],
  ['smtpUrl,giveUpHours', 'Mail server, Give up after'],
  ['dkimDomain, dkimSelector, dkimKey', 'DKIM signature'],
  ['constructor', 'constructor'],
])('names the changed settings as the Sender page does: %s', (subject, labels) => {
  expect(describeAction({ ...ENTRY, subject }, NAMES)).toBe(`changed the sender: ${labels}`)
})
