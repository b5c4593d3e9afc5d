/** @jsxImportSource preact */
import { readEmail } from '../../core/email.ts'
import { hintOfTag, nameLanguage } from '../../core/languages.ts'
import { pathOf } from '../layout/frame.tsx'
import { type Fields, textOf } from './message-field-names.ts'
import { listVariants, NEW_VARIANT, OPEN, variantPath } from './message-form.ts'
import type { Ask } from './message-when.tsx'
import { Button } from '../ui/button.tsx'
import { type Option, Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { SentText } from '../ui/text.tsx'

type MailProps = {
  ask: Ask
  properties: string[]
  /** of people */
  personFields: string[]
  /** the field with the date of the trigger, or empty */
  date: string
}

export const MailSection = ({ ask, properties, personFields, date }: MailProps) => (
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
        <Properties names={properties} fields={personFields} date={date} />
      </div>
    )}
  </section>
)

const OF_PERSON = [{ name: 'contact.firstName', inserts: '{{ contact.firstName | default: "there" }}' }]

/** Everyone who gets the message has this date. */
const ofDate = (date: string) =>
  /^[A-Za-z_][\w-]*$/.test(date)
    ? [{ name: `contact.fields.${date}`, inserts: `{{ contact.fields.${date} | date: "long" }}` }]
    : []

type NamesProps = { names: string[]; fields: string[]; date: string }

/** Variables of events, of the date and of the person. islands/message.ts inserts them at the cursor. */
export const Properties = ({ names, fields, date }: NamesProps) => (
  <ul class="chips" aria-label="Variables">
    {[
      ...names.map((name) => ({ name: `event.${name}`, inserts: `{{ event.${name} }}` })),
      ...ofDate(date),
      ...fields
        .filter((name) => name !== date)
        .map((name) => ({ name: `contact.fields.${name}`, inserts: `{{ contact.fields.${name} }}` })),
      ...OF_PERSON,
    ].map(({ name, inserts }) => (
      <li key={name}>
        <button class="chip" type="button" data-insert={inserts} title={`Insert ${inserts}`}>
          <SentText most={40}>{name}</SentText>
        </button>
      </li>
    ))}
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

/** Open if it is used or wrong. */
export function HtmlSection({ ask }: { ask: Ask }) {
  const html = ask('mail.html')
  return (
    <details class="more-fields" open={html.value.trim() !== '' || html.error !== undefined}>
      <summary>
        <h2>Your own HTML</h2>
      </summary>
      <Field
        {...html}
        label="HTML"
        kind="source"
        hint={
          <>
            Replaces layout and text; the text above becomes the plain-text part. <a href="/docs/html">How it works</a>
          </>
        }
        optional
      />
    </details>
  )
}

type LanguagesProps = { ask: Ask; path: string; fields: Fields; isEditor: boolean }

const PARTS_OF_TEXT = ['subject', 'preheader', 'body', 'html']

/** Open if there are any. */
export function LanguagesSection({ ask, path, fields, isEditor }: LanguagesProps) {
  const languages = listVariants(fields)
  const added = ask(NEW_VARIANT)
  const error = added.value === '' ? undefined : `Enter another language, such as de or de-CH.${hintOfTag(added.value)}`
  return (
    <details id="languages" class="more-fields" data-part open={languages.length > 0 || error !== undefined}>
      <summary>
        <h2>Other languages</h2>
      </summary>
      <p class="hint">
        For people whose <code>locale</code> field names the language. Everyone else gets the text above.{' '}
        <a href="/docs/languages">How it works</a>
      </p>
      {languages.map((name) => (
        <LanguageFields
          key={name}
          ask={ask}
          path={path}
          name={name}
          isAdded={textOf(fields, OPEN) === variantPath(name)}
          isEditor={isEditor}
        />
      ))}
      {isEditor && (
        <div class="beside">
          <Field
            {...added}
            label="Language"
            hint="Such as de or pt-BR."
            {...{ error, autofocus: error !== undefined }}
            optional="unmarked"
          />
          <Button name="do" value="add mail.variants">
            Add a language
          </Button>
        </div>
      )}
    </details>
  )
}

type LanguageProps = Omit<LanguagesProps, 'fields'> & { name: string; isAdded: boolean }

function LanguageFields({ ask, path, name, isAdded, isEditor }: LanguageProps) {
  const askFor = (part: string) => ask(`${variantPath(name)}.${part}`)
  return (
    <details class="fold" open={isAdded || PARTS_OF_TEXT.some((part) => askFor(part).error !== undefined)}>
      <summary>{nameLanguage(name)}</summary>
      <Field {...askFor('subject')} label="Subject" autofocus={isAdded} />
      <Field {...askFor('preheader')} label="Preview text" optional />
      <Field {...askFor('body')} label="Text" kind="prose" optional="unmarked" />
      <Field {...askFor('html')} label="HTML" kind="source" optional />
      {isEditor && (
        <Button name="do" value={`remove mail.variants ${name}`} kind="danger" formaction={`${path}#languages`}>
          {`Remove ${nameLanguage(name)}`}
        </Button>
      )}
    </details>
  )
}

const SENDER_FIELDS = [
  'name',
  'mail.fromName',
  'mail.fromEmail',
  'mail.replyTo',
  'mail.category',
  'topic',
  'ifUnconfirmed',
]

type SenderSectionProps = { ask: Ask; appId: string; senders: ChoosableSenders; topics: string[]; isNew: boolean }

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
export function SenderSection({ ask, appId, senders, topics, isNew }: SenderSectionProps) {
  const topic = ask('topic').value
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
              Owners can add addresses under <a href={pathOf(appId, 'sender')}>Sender</a>.
            </>
          }
          options={optionsOf(senders, ask('mail.fromEmail').value)}
        />
        <Field
          {...ask('mail.replyTo')}
          label="Replies go to"
          hint="Default: the app's address for replies."
          kind="email"
          optional
        />
        <Select {...ask('mail.category')} label="Category" options={CATEGORIES} />
        <Select
          {...ask('topic')}
          label="Topic"
          hint={
            <>
              People can unsubscribe from just this topic. Owners add{' '}
              <a href={pathOf(appId, 'sender/topics')}>topics</a>.
            </>
          }
          options={[
            { value: '', label: 'None' },
            ...(topic === '' || topics.includes(topic) ? topics : [...topics, topic]).map((value) => ({
              value,
              label: value,
            })),
          ]}
        />
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
