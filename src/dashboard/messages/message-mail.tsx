/** @jsxImportSource preact */
import { readEmail } from '../../core/email.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Ask } from './message-when.tsx'
import { type Option, Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { SentText } from '../ui/text.tsx'

type MailProps = {
  ask: Ask
  /** properties of recent events */
  properties: string[]
}

export const MailSection = ({ ask, properties }: MailProps) => (
  <section id="mail">
    <h2>Email</h2>
    <Field {...ask('mail.subject')} label="Subject" />
    <Field
      {...ask('mail.preheader')}
      label="First line in the inbox"
      hint="Shown next to the subject in the inbox."
      optional
    />
    <Field
      {...ask('mail.body')}
      label="Text"
      kind="prose"
      hint={
        <>
          Markdown. Put variables in braces: <code>{'{{ event.headline }}'}</code>, with a fallback{' '}
          <code>{'{{ contact.firstName | default: "there" }}'}</code>. Without a value or a fallback, the email is not
          sent.
        </>
      }
    />
    <div id="properties">
      <Properties names={properties} />
    </div>
  </section>
)

/** Placeholders, with values of recent events. */
export const Properties = ({ names }: { names: string[] }) =>
  names.length === 0 ? null : (
    <p class="hint">
      Variables of this event:{' '}
      {names.map((name, index) => (
        <>
          {index > 0 && ', '}
          <code>
            <SentText most={60}>{`event.${name}`}</SentText>
          </code>
        </>
      ))}
      .
    </p>
  )

const CATEGORIES = [
  { value: 'lifecycle', label: 'Lifecycle: unsubscribing ends it' },
  { value: 'transactional', label: 'Transactional: unsubscribing does not apply' },
]

const UNCONFIRMED = [
  { value: '', label: 'Default: resend only for results_ready' },
  { value: 'resend', label: 'Resend once' },
  { value: 'leave', label: "Don't resend" },
]

const SENDER_FIELDS = ['mail.fromName', 'mail.fromEmail', 'mail.replyTo', 'mail.category', 'ifUnconfirmed']

type SenderSectionProps = { ask: Ask; appId: string; senders: ChoosableSenders }

/** The app's sender addresses and its default. */
export type ChoosableSenders = { emails: string[]; usual: string | null }

/** A removed address stays visible until another is chosen. */
function optionsOf({ emails, usual }: ChoosableSenders, current: string): Option[] {
  const listed = emails.map((email) => ({ value: email, label: email }))
  const isListed = emails.includes(readEmail(current)?.email ?? '')
  const other = { value: current, label: isListed ? current : `${current} (not an address of this app)` }
  const others = current === '' || emails.includes(current) ? [] : [other]
  return [{ value: '', label: usual === null ? 'Default' : `Default (${usual})` }, ...listed, ...others]
}

/** Rarely changed fields; open if any is set or invalid. */
export function SenderSection({ ask, appId, senders }: SenderSectionProps) {
  const isPlain = SENDER_FIELDS.every((name) => ['', 'lifecycle'].includes(ask(name).value) && !ask(name).error)
  return (
    <details class="more-fields" open={!isPlain}>
      <summary>
        <h2>Sender and kind</h2>
      </summary>
      <Field {...ask('mail.fromName')} label="Sender's name" hint="Default: the app's." optional />
      <Select
        {...ask('mail.fromEmail')}
        label="Sender's address"
        hint={
          <>
            Owners add addresses on <a href={pathOf(appId, 'sender')}>Sender</a>.
          </>
        }
        options={optionsOf(senders, ask('mail.fromEmail').value)}
      />
      <Field {...ask('mail.replyTo')} label="Replies go to" kind="email" optional />
      <Select {...ask('mail.category')} label="Kind of email" options={CATEGORIES} />
      <Select
        {...ask('ifUnconfirmed')}
        label="If it's unknown whether it was sent"
        hint="The connection may break while the server accepts an email."
        options={UNCONFIRMED}
      />
    </details>
  )
}
