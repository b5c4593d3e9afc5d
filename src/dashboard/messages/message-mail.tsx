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
  <section id="mail" aria-label="Email">
    <Field {...ask('mail.subject')} label="Subject" />
    <Field {...ask('mail.preheader')} label="Preview text" optional />
    <Field
      {...ask('mail.body')}
      label="Text"
      kind="prose"
      hint={
        <>
          Markdown, with <a href="/docs/content">variables</a>.
        </>
      }
    />
    {ask('mail.body').isLocked !== true && (
      <div id="properties">
        <Properties names={properties} />
      </div>
    )}
  </section>
)

const OF_PERSON = [{ name: 'contact.firstName', inserts: '{{ contact.firstName | default: "there" }}' }]

/** Variables of recent events and of the person. islands/message.ts inserts them at the cursor. */
export const Properties = ({ names }: { names: string[] }) => (
  <ul class="chips" aria-label="Variables">
    {[...names.map((name) => ({ name: `event.${name}`, inserts: `{{ event.${name} }}` })), ...OF_PERSON].map(
      ({ name, inserts }) => (
        <li key={name}>
          <button class="chip" type="button" data-insert={inserts} title={`Insert ${inserts}`}>
            <SentText most={40}>{name}</SentText>
          </button>
        </li>
      ),
    )}
  </ul>
)

const CATEGORIES = [
  { value: 'lifecycle', label: 'Lifecycle: stops when people unsubscribe' },
  { value: 'transactional', label: 'Transactional: sent even after people unsubscribe' },
]

const UNCONFIRMED = [
  { value: '', label: 'Default: resend only for results_ready' },
  { value: 'resend', label: 'Resend once' },
  { value: 'leave', label: "Don't resend" },
]

const SENDER_FIELDS = ['name', 'mail.fromName', 'mail.fromEmail', 'mail.replyTo', 'mail.category', 'ifUnconfirmed']

type SenderSectionProps = { ask: Ask; appId: string; senders: ChoosableSenders; isNew: boolean }

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

export const NameField = ({ ask }: { ask: Ask }) => (
  <Field {...ask('name')} label="Name" hint="Only your team sees it." />
)

/** Rarely changed fields; open if any is invalid. */
export function SenderSection({ ask, appId, senders, isNew }: SenderSectionProps) {
  return (
    <details class="more-fields" open={SENDER_FIELDS.some((name) => ask(name).error !== undefined)}>
      <summary>
        <h2>{isNew ? 'Sender and category' : 'Name, sender and category'}</h2>
      </summary>
      <div class="pairs">
        {!isNew && <NameField ask={ask} />}
        <Field {...ask('mail.fromName')} label="Sender name" hint="Default: the app's sender name." optional />
        <Select
          {...ask('mail.fromEmail')}
          label="Sender address"
          hint={
            <>
              Owners can add addresses on <a href={pathOf(appId, 'sender')}>Sender</a>.
            </>
          }
          options={optionsOf(senders, ask('mail.fromEmail').value)}
        />
        <Field {...ask('mail.replyTo')} label="Replies go to" kind="email" optional />
        <Select {...ask('mail.category')} label="Category" options={CATEGORIES} />
        <Select
          {...ask('ifUnconfirmed')}
          label="If delivery isn't confirmed"
          hint="The connection can break before the server confirms an email."
          options={UNCONFIRMED}
        />
      </div>
    </details>
  )
}
