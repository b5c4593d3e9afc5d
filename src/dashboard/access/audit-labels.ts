import type { KeyRow } from '../../accounts/accounts.ts'
import type { AppRow } from '../../accounts/access.ts'
import { readPublicId } from '../../core/ids.ts'
import { findProvider } from '../../accounts/mail-providers.ts'
import type { MemberEntry } from '../../accounts/members.ts'
import type { AuditEntry } from '../../accounts/audit.ts'
import { readMessageSubject, readPersonSubject, readSuppressedSubject } from '../../store/audit.ts'
import { describeSettings } from '../sender/setting-labels.ts'

/** The text of each audit action, after the actor's name. `{}` is replaced by the subject. */
const ACTIONS = new Map<string, string>([
  ['account.create', 'created the account'],
  ['account.rename', 'renamed the account'],
  ['account.require_two_step', 'required two-step sign-in for all members'],
  ['account.allow_one_step', 'stopped requiring two-step sign-in'],
  ['plan.set', 'changed the plan: {}'],
  ['app.create', 'created the app {}'],
  ['app.update', 'changed the settings of the app {}'],
  ['snippet.set', 'changed the browser script settings of the app {}'],
  ['key.create', 'created the API key {}'],
  ['key.revoke', 'revoked the API key {}'],
  ['secret.rotate', 'rotated the identity secret'],
  ['secret.revoke', 'revoked a previous identity secret'],
  ['mail.set', 'changed the sender: {}'],
  ['brake.pull', 'applied the brake for the app {}: too many emails bounced or were reported as spam'],
  ['brake.end', 'released the brake for the app {}: the rate has fallen'],
  ['brake.release', 'released the brake for the app {}'],
  ['sender_domain.txt', 'verified the sender domain {} by its TXT record'],
  ['sender_domain.dkim', 'verified the sender domain {} by its DKIM key'],
  ['sender_domain.operator', 'let this account use the sender domain {}'],
  ['sender_domain.unbind', 'removed the sender domain {} from this account'],
  ['member.invite', 'invited {}'],
  ['member.accept', 'joined the account'],
  ['member.set_role.owner', 'made {} an owner'],
  ['member.set_role.editor', 'made {} an editor'],
  ['member.set_role.viewer', 'made {} a viewer'],
  ['member.remove', 'removed {}'],
  ['member.reset_password', 'created a password link for {}'],
  ['member.set_password', 'set a password with a link'],
  ['member.change_password', 'changed their password'],
  ['member.refuse_password', 'tried to set a password for {}, who already had one'],
  ['member.end_sessions', 'ended all sessions of {}'],
  ['session.start', 'signed in'],
  ['session.end', 'signed out'],
  ['session.end_others', 'ended their other sessions'],
  ['sign_in.wrong_password', 'entered a wrong password for {}'],
  ['sign_in.wrong_code', 'entered a wrong code for {}'],
  ['sign_in.wrong_recovery_code', 'entered a wrong recovery code for {}'],
  ['sign_in.delayed', 'tried to sign in as {} too soon after wrong passwords or codes'],
  ['notice.wrong_passwords', 'emailed {} about wrong passwords'],
  ['notice.wrong_codes', 'emailed {} about wrong codes'],
  ['two_step.turn_on', 'turned on two-step sign-in'],
  ['two_step.turn_off', 'turned off two-step sign-in'],
  ['two_step.renew_recovery_codes', 'created new recovery codes'],
  ['two_step.use_recovery_code', 'used a recovery code'],
  ['message.rename', 'renamed the message {}'],
  ['message.save', 'saved the message {}'],
  ['message.restore', 'restored {}'],
  ['message.copy', 'duplicated a message as {}'],
  ['message.move_waiting', 'moved the waiting emails from {} to its newest version'],
  ['message.live', 'made the message {} live'],
  ['message.paused', 'paused the message {}'],
  ['message.draft', 'made the message {} a draft'],
  ['message.delete', 'deleted the message {}'],
  ['topic.add', 'added the topic {}'],
  ['topic.change', 'changed the topic {}'],
  ['topic.delete', 'deleted the topic {}'],
  ['delivery.resend', 'sent the email {}'],
  ['delivery.cancel', 'cancelled the email {}'],
  ['delivery.send_early', 'asked to send the email {} early'],
  ['contact.add', 'added the person {}'],
  ['contact.change', 'changed the person {}'],
  ['contact.ask', 'asked {} again to confirm the address'],
  ['contact.erase', 'erased the person {}'],
  ['contact.export', 'exported the person {}'],
  ['data.export', 'exported {}'],
  ['data.import', 'imported {}'],
  ['suppression.add', 'suppressed {}'],
  ['suppression.import', 'suppressed addresses: {}'],
  ['suppression.sync', 'read the suppression list of {}'],
  ['suppression.remove', 'removed the suppression for {}'],
])

export type AuditNames = {
  members: MemberEntry[]
  keys: KeyRow[]
  apps: AppRow[]
  messages: { id: number; name: string }[]
  /** the message and the person of a delivery, by its id */
  deliveries: ReadonlyMap<number, { message: string; email: string }>
  /** emails of people, by their id */
  people: ReadonlyMap<number, string>
}

/** Describes an id: names that someone chose are quoted, and unknown ids are shown unchanged. */
function nameOf(id: string, { members, keys, apps, messages, deliveries, people }: AuditNames): string {
  const member = members.find(({ personId }) => personId === id)
  if (member) return member.email
  // person ids are shared between accounts, so they are never shown
  if (id.startsWith('mem_')) return 'a former member'
  const sent = deliveries.get(readPublicId('dlv', id) ?? 0)
  if (sent) return `“${sent.message}” to ${sent.email}`
  const email = people.get(readPublicId('con', id) ?? 0)
  if (email !== undefined) return email
  const messageId = readPublicId('msg', id)
  const named =
    keys.find((key) => key.id === id) ??
    apps.find((app) => app.publicId === id) ??
    messages.find((message) => message.id === messageId)
  return named ? `“${named.name}”` : id
}

function describeSubject(entry: AuditEntry, names: AuditNames): string {
  const { action, subject } = entry
  const message = readMessageSubject(entry)
  if (message && action === 'message.restore') return `version ${message.names[1]} of the message “${message.names[0]}”`
  if (message && message.names.length > 0) return message.names.map((name) => `“${name}”`).join(' to ')
  if (action === 'mail.set') return describeSettings(subject ?? '')
  if (action === 'suppression.sync') return describeSync(subject ?? '')
  const suppressed = readSuppressedSubject(entry)
  if (suppressed) return `${nameSuppressed(suppressed.contactId, names)}: ${suppressed.why}`
  const person = readPersonSubject(entry)
  if (person) return `${nameOf(person.contactId, names)}: ${person.changed.map(nameChanged).join(', ')}`
  return nameOf(subject ?? '', names)
}

const PERSON_PARTS = new Map([
  ['firstName', 'first name'],
  ['lastName', 'last name'],
])

/** Names of fields are quoted, because members and the API choose them. */
const nameChanged = (name: string): string =>
  name.startsWith('fields.') ? `“${name.slice('fields.'.length)}”` : (PERSON_PARTS.get(name) ?? name)

/** A hash would tell a reader nothing. */
function nameSuppressed(contactId: string | null, { people }: AuditNames): string {
  if (contactId === null) return 'an address'
  return people.get(readPublicId('con', contactId) ?? 0) ?? 'an erased person'
}

/** "Postmark: 12 added, 340 already listed" */
function describeSync(subject: string): string {
  const [provider = '', added = '', known = ''] = subject.split(' ')
  return `${findProvider(provider)?.name ?? provider}: ${added} added, ${known} already listed`
}

export function describeAction(entry: AuditEntry, names: AuditNames): string {
  const { action, count } = entry
  const named = describeSubject(entry, names)
  const text = (ACTIONS.get(action) ?? `${action} {}`).replace('{}', () => named).trim()
  return count > 1 ? `${text} (${count} times)` : text
}
