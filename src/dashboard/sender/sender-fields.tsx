/** @jsxImportSource preact */
import type { MailState } from '../layout/mail-notices.tsx'
import type { SenderCheck } from '../../accounts/sender-checks.ts'
import type { DomainStatus } from '../../accounts/senders.ts'
import type { FieldError, Refusal } from '../../core/refusals.ts'
import type { RenderedMail, ServerCheck, MailRoute } from '../../messages/mailer.ts'
import type { DkimText } from '../../accounts/dkim.ts'
import {
  type MailSettings,
  maskSmtpUrl,
  type SenderForm,
  type SenderText,
  WEEK,
  writeSender,
} from '../../accounts/sender-settings.ts'
import { formatZone } from '../../core/format-time.ts'
import type { ChangedField } from '../access/settings-conflicts.ts'
import { pathOf } from '../layout/frame.tsx'
import { Toggle } from '../ui/choice.tsx'
import { Field, useField } from '../ui/field.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { SECRET_LABELS, SETTING_LABELS } from './setting-labels.ts'

type FieldsProps = { input: SenderText; app: Viewer['app']; settings: MailSettings; isOwner: boolean }

export const SenderFields = (props: FieldsProps) => (
  <>
    <FromFields {...props} />
    <LookFields {...props} />
    <ServerFields {...props} />
    <LimitFields {...props} />
    <HourFields {...props} />
  </>
)

const FromFields = ({ input }: FieldsProps) => (
  <section>
    <h2>From</h2>
    <div class="pair">
      <Field name="fromName" label="Name" value={input.fromName} autocomplete="off" optional />
      <Field
        name="fromEmail"
        label="Address"
        kind="email"
        hint="Default: the address of this installation."
        value={input.fromEmail}
        autocomplete="off"
        optional
      />
    </div>
    <Field
      name="otherFromEmails"
      label="Other addresses"
      kind="lines"
      hint="One per line. Messages can choose one of them."
      value={input.otherFromEmails}
      autocomplete="off"
      optional
    />
    <Field name="replyTo" label="Replies go to" kind="email" value={input.replyTo} autocomplete="off" optional />
  </section>
)

const LookFields = ({ input }: FieldsProps) => (
  <section>
    <h2>Look</h2>
    <Field
      name="postalAddress"
      label="Postal address"
      kind="lines"
      hint="In the footer of every email. Many countries require it."
      value={input.postalAddress}
      autocomplete="off"
      optional
    />
    <Field
      name="logoUrl"
      label="Logo"
      hint="URL of an image, https:// only. Default: the app's name."
      value={input.logoUrl}
      autocomplete="off"
      optional
    />
    <Field
      name="colour"
      label="Colour"
      hint="For buttons and links, such as #2b4acb. Adjusted if unreadable."
      value={input.colour}
      autocomplete="off"
      optional
    />
  </section>
)

const ServerFields = ({ input, settings: { smtpUrl }, isOwner }: FieldsProps) => (
  <section>
    <h2>Mail server</h2>
    <Field
      name="smtpUrl"
      label={smtpUrl === null ? 'Server URL' : 'Another server URL'}
      hint={
        <>
          {smtpUrl === null ? (
            'Default: the server of this installation. '
          ) : (
            <>{isOwner ? <code>{maskSmtpUrl(smtpUrl)}</code> : 'A server'} is set. Leave empty to keep it. </>
          )}
          Such as <code>smtps://user:password@smtp.example.com:465</code>.
        </>
      }
      value={input.smtpUrl}
      autocomplete="off"
      optional
    />
    {smtpUrl !== null && (
      <Toggle
        name="dropsSmtp"
        label="Remove the server"
        hint="Emails then use the installation's server, or are captured without one."
        isOn={input.dropsSmtp}
      />
    )}
    <div class="pair">
      <Field
        name="perSecond"
        label="Emails per second"
        hint="Maximum. Default: 100."
        value={input.perSecond}
        autocomplete="off"
        optional
      />
      <Field
        name="giveUpHours"
        label="Give up after"
        hint="Hours, from when an email may first be sent. Default: 72."
        value={input.giveUpHours}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

const LimitFields = ({ input }: FieldsProps) => (
  <section>
    <h2>Limits per person</h2>
    <p class="hint">
      Counts lifecycle emails of all messages. Transactional emails don't count and never wait. Leave empty for no
      limit.
    </p>
    <div class="pair">
      <Field
        name="perPersonDay"
        label="Lifecycle emails per day"
        value={input.perPersonDay}
        autocomplete="off"
        optional
      />
      <Field
        name="perPersonWeek"
        label="Lifecycle emails per week"
        value={input.perPersonWeek}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

/** The fields of the changed settings, with what is stored now. */
export function listChangedFields(settings: MailSettings, names: string[]): ChangedField[] {
  const text: Record<string, unknown> = writeSender(settings)
  return names.flatMap((name): ChangedField[] => {
    if (name === 'sendWindow') return [{ label: 'Sending hours', now: describeWindow(writeSender(settings)) }]
    const [label, secret] = [SETTING_LABELS.get(name), SECRET_LABELS.get(name)]
    if (secret !== undefined) return [{ label: secret }]
    return label === undefined ? [] : [{ label, now: String(text[name]).replaceAll('\n', ', ') }]
  })
}

const describeWindow = ({ days, windowFrom, windowUntil }: SenderText): string => {
  const which = days.length === WEEK.length ? 'every day' : days.map((day) => DAYS[day]).join(', ')
  return windowFrom === '' ? which : `${which}, ${windowFrom} to ${windowUntil}`
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

const HourFields = ({ input, app }: FieldsProps) => {
  const { error, isLocked } = useField({ name: 'days' })
  return (
    <section>
      <h2>Sending hours</h2>
      <p class="hint">
        Lifecycle emails wait for these hours; transactional emails don't. Times are in {formatZone(app.timezone)}, the
        timezone of <a href={pathOf(app.publicId, 'settings')}>Settings</a>.
      </p>
      <fieldset class={error ? 'field wrong' : 'field'}>
        <legend>Days</legend>
        {error && <p class="fault">{error}</p>}
        <div class="days">
          {WEEK.map((day) => (
            <label key={day} class="option">
              <input type="checkbox" name={`day${day}`} checked={input.days.includes(day)} disabled={isLocked} />
              <span>{DAYS[day]}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <div class="pair">
        <Field
          name="windowFrom"
          label="From"
          hint="Such as 09:00."
          value={input.windowFrom}
          autocomplete="off"
          optional
        />
        <Field
          name="windowUntil"
          label="Until"
          hint="Such as 17:00. Earlier than From means the next day."
          value={input.windowUntil}
          autocomplete="off"
          optional
        />
      </div>
    </section>
  )
}

/** `basedOn`: the marks that the form sent, which it keeps while it has errors. */
export type Typed = { sender?: SenderText; dkim?: DkimText; basedOn?: string; errors: FieldError[] }

export type SenderProps = {
  viewer: Viewer
  mail: MailState
  mailRoute: MailRoute
  settings: MailSettings
  input: SenderText
  /** marks of the settings that each form was filled from */
  basedOn: Record<SenderForm, string>
  typed?: Typed
  /** error of the last action */
  notice?: string
  /** sample email; null if it can't be rendered */
  sample: RenderedMail | null
  /** result of the mail server test; null if not requested */
  serverCheck: ServerCheck | Refusal | null
  /** DNS results; null if not requested */
  checks: SenderCheck[] | null
  /** domains of the sender addresses; `isChecked`: DNS was just queried */
  domains: DomainStatus[]
  isChecked: boolean
  baseUrl: string
}
