/** @jsxImportSource preact */
import type { MailState } from '../layout/mail-notices.tsx'
import type { SenderCheck } from '../../accounts/sender-checks.ts'
import type { DomainStatus } from '../../accounts/senders.ts'
import type { FieldError, Refusal } from '../../core/refusals.ts'
import type { RenderedMail, ServerCheck, MailRoute } from '../../messages/mailer.ts'
import type { DkimText } from '../../accounts/dkim.ts'
import { type MailSettings, maskSmtpUrl, type SenderText, WEEK } from '../../accounts/sender-settings.ts'
import { formatZone } from '../../core/format-time.ts'
import { pathOf } from '../layout/frame.tsx'
import { Toggle } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Props of every field: value, error and whether it is editable. */
export type About = (name: string) => { name: string; error?: string; autofocus: boolean; isLocked: boolean }

type FieldsProps = { input: SenderText; about: About; app: Viewer['app']; settings: MailSettings; isOwner: boolean }

export const SenderFields = (props: FieldsProps) => (
  <>
    <FromFields {...props} />
    <LookFields {...props} />
    <ServerFields {...props} />
    <LimitFields {...props} />
    <HourFields {...props} />
  </>
)

const FromFields = ({ input, about }: FieldsProps) => (
  <section>
    <h2>From</h2>
    <div class="pair">
      <Field {...about('fromName')} label="Name" value={input.fromName} autocomplete="off" optional />
      <Field
        {...about('fromEmail')}
        label="Address"
        kind="email"
        hint="Without one, the installation's is used."
        value={input.fromEmail}
        autocomplete="off"
        optional
      />
    </div>
    <Field
      {...about('otherFromEmails')}
      label="Other addresses"
      kind="lines"
      hint="One per line. Messages can choose one of them."
      value={input.otherFromEmails}
      autocomplete="off"
      optional
    />
    <Field {...about('replyTo')} label="Answers go to" kind="email" value={input.replyTo} autocomplete="off" optional />
  </section>
)

const LookFields = ({ input, about }: FieldsProps) => (
  <section>
    <h2>Look</h2>
    <Field
      {...about('postalAddress')}
      label="Postal address"
      kind="lines"
      hint="It stands at the foot of every mail, as the law of many countries asks."
      value={input.postalAddress}
      autocomplete="off"
      optional
    />
    <Field
      {...about('logoUrl')}
      label="Logo"
      hint="The address of a picture, https:// only. Without one, the name of the app stands there."
      value={input.logoUrl}
      autocomplete="off"
      optional
    />
    <Field
      {...about('colour')}
      label="Colour"
      hint="Of buttons and links, such as #2b4acb. It is made darker or lighter where it could not be read."
      value={input.colour}
      autocomplete="off"
      optional
    />
  </section>
)

const ServerFields = ({ input, about, settings: { smtpUrl }, isOwner }: FieldsProps) => (
  <section>
    <h2>Mail server</h2>
    <Field
      {...about('smtpUrl')}
      label={smtpUrl === null ? 'Address of the server' : 'Another server'}
      hint={
        <>
          {smtpUrl === null ? (
            'None is set for this app, so the one of the installation is used. '
          ) : (
            <>
              {isOwner ? <code>{maskSmtpUrl(smtpUrl)}</code> : 'One'} is set. The password is not shown again, and an
              empty field leaves it.{' '}
            </>
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
        label="Take the address away"
        hint="Mails go through the installation's server then, or are kept in the outbox where it has none."
        isOn={input.dropsSmtp}
        isLocked={!isOwner}
      />
    )}
    <div class="pair">
      <Field
        {...about('perSecond')}
        label="Mails a second"
        hint="At most so many. 100 where nothing is set."
        value={input.perSecond}
        autocomplete="off"
        optional
      />
      <Field
        {...about('giveUpHours')}
        label="Give up after"
        hint="Hours that a mail is tried for. 72 where nothing is set."
        value={input.giveUpHours}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

const LimitFields = ({ input, about }: FieldsProps) => (
  <section>
    <h2>At most to one person</h2>
    <p class="hint">
      Counts lifecycle emails of all messages. Transactional emails don't count and never wait. Leave empty for no
      limit.
    </p>
    <div class="pair">
      <Field
        {...about('perPersonDay')}
        label="Lifecycle emails a day"
        value={input.perPersonDay}
        autocomplete="off"
        optional
      />
      <Field
        {...about('perPersonWeek')}
        label="Lifecycle emails a week"
        value={input.perPersonWeek}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

const HourFields = ({ input, about, app }: FieldsProps) => {
  const { error, isLocked } = about('days')
  return (
    <section>
      <h2>When mail may go</h2>
      <p class="hint">
        Mails that are due at another time wait for the next such hour. Transactional ones do not. Hours are those of{' '}
        {formatZone(app.timezone)}, which is set on <a href={pathOf(app.publicId, 'settings')}>Settings</a>.
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
          {...about('windowFrom')}
          label="From"
          hint="Such as 09:00."
          value={input.windowFrom}
          autocomplete="off"
          optional
        />
        <Field
          {...about('windowUntil')}
          label="Until"
          hint="Such as 17:00. Before the hour of From it is on the next day."
          value={input.windowUntil}
          autocomplete="off"
          optional
        />
      </div>
    </section>
  )
}

export type Typed = { sender?: SenderText; dkim?: DkimText; errors: FieldError[] }

export type SenderProps = {
  viewer: Viewer
  mail: MailState
  way: MailRoute
  settings: MailSettings
  input: SenderText
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
