import { expect, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { describeAction } from '../../../src/dashboard/access/audit-labels.ts'

const NAMES = { members: [], keys: [], apps: [], messages: [], deliveries: new Map(), people: new Map() }
const ENTRY = { id: '1', accountId: '1', createdAt: 0, actor: 'cli', action: 'mail.set', address: null, count: 1 }

test('names the message and person of an email that a member sent', () => {
  const deliveries = new Map([[7, { message: 'Welcome', email: 'ada@example.com' }]])
  const sent = (id: number) =>
    describeAction({ ...ENTRY, action: 'delivery.resend', subject: publicId('dlv', id) }, { ...NAMES, deliveries })
  expect(sent(7)).toBe('sent the email “Welcome” to ada@example.com')
  expect(sent(8)).toBe(`sent the email ${publicId('dlv', 8)}`)
})

test('names a message as it was then, even if its name has quotes, commas or a bracket', () => {
  const messages = [{ id: 7, name: 'Now' }]
  const said = (action: string, ...names: string[]) => {
    const subject = `${publicId('msg', 7)} ${JSON.stringify(names)}`
    return describeAction({ ...ENTRY, action, subject }, { ...NAMES, messages })
  }
  expect(said('message.live', 'Then')).toBe('made the message “Then” live')
  expect(said('message.rename', 'Then', 'A "b", ] c')).toBe('renamed the message “Then” to “A "b", ] c”')
  expect(said('message.restore', 'Then', '12')).toBe('restored version 12 of the message “Then”')
  expect(said('message.copy', 'Then (copy)')).toBe('duplicated a message as “Then (copy)”')
  const older = { ...ENTRY, action: 'message.save', subject: publicId('msg', 7) }
  expect(describeAction(older, { ...NAMES, messages })).toBe('saved the message “Now”')
})

test('names the person and what a member changed, without values', () => {
  const people = new Map([[7, 'ada@example.com']])
  const said = (id: number) => {
    const subject = `${publicId('con', id)} ${JSON.stringify(['firstName', 'tags', 'fields.plan, old'])}`
    return describeAction({ ...ENTRY, action: 'contact.change', subject }, { ...NAMES, people })
  }
  expect(said(7)).toBe('changed the person ada@example.com: first name, tags, “plan, old”')
  expect(said(8)).toBe(`changed the person ${publicId('con', 8)}: first name, tags, “plan, old”`)
})

test('a name that looks like the subject of a message stays a name', () => {
  const entry = { ...ENTRY, action: 'plan.set', subject: 'msg_1 [broken]' }
  expect(describeAction(entry, NAMES)).toBe('changed the plan: msg_1 [broken]')
})

test.each([
  ['fromName, postalAddress, sendWindow', 'Name, Postal address, Sending hours'],
  ['smtpUrl,giveUpHours', 'Mail server, Give up after'],
  ['dkimDomain, dkimSelector, dkimKey', 'DKIM signature'],
  ['constructor', 'constructor'],
])('names the changed settings as the Sender page does: %s', (subject, labels) => {
  expect(describeAction({ ...ENTRY, subject }, NAMES)).toBe(`changed the sender: ${labels}`)
})
