/** @jsxImportSource preact */
import { type LimitsText, MOST_CONNECTIONS, WEEK, writeLimits } from '../../accounts/sender-settings.ts'
import { formatZone } from '../../core/format-time.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import type { LearnedLimits } from '../../messages/mailer.ts'
import { Field, useField } from '../ui/field.tsx'
import { LearnedLimitsText } from './learned-limits.tsx'
import { type Refused, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'
import { DAYS, describeWindow } from './setting-labels.ts'

type LimitsProps = { facts: SenderFacts; refused: Refused<LimitsText> }

export const LimitsPage = ({ facts, refused }: LimitsProps) => {
  const { viewer, settings } = facts
  const text = refused.text ?? writeLimits(settings)
  return (
    <SenderFrame facts={facts} current="sender/limits" state={describeState(writeLimits(settings))} refused={refused}>
      <SettingsForm {...{ facts, refused }} page="sender/limits" of="limits" submit="Save">
        <HourFields text={text} app={viewer.app} />
        <PersonFields text={text} />
        <PaceFields text={text} limits={facts.limits} />
      </SettingsForm>
    </SenderFrame>
  )
}

function describeState(saved: LimitsText): string {
  const isAlways = saved.days.length === WEEK.length && saved.windowFrom === ''
  const limits = [
    [saved.perPersonDay, 'a day'],
    [saved.perPersonWeek, 'a week'],
  ].flatMap(([count, per]) => (count === '' ? [] : `${count} ${per}`))
  const hours = isAlways ? 'at any time' : describeWindow(saved)
  const most = limits.length === 0 ? 'without a limit per person' : `at most ${limits.join(' and ')} per person`
  return `Lifecycle emails are sent ${hours}, ${most}.`
}

const HourFields = ({ text, app }: { text: LimitsText; app: Viewer['app'] }) => {
  const { error, autofocus, isLocked } = useField({ name: 'days' })
  return (
    <section>
      <h2>Sending hours</h2>
      <p class="hint">
        Lifecycle emails wait for these hours; transactional emails don't. Hours such as 22:00 to 06:00 end the next
        day. Times are in the person's own timezone (their <code>timezone</code> field), otherwise in{' '}
        {formatZone(app.timezone)}. Change the app's timezone in <a href={pathOf(app.publicId, 'settings')}>Settings</a>
        .
      </p>
      <fieldset class={error ? 'field wide wrong' : 'field wide'}>
        <legend>Days</legend>
        {error && <p class="fault">{error}</p>}
        <div class="days">
          {WEEK.map((day) => (
            <label key={day} class="option">
              <input
                type="checkbox"
                name={`day${day}`}
                checked={text.days.includes(day)}
                disabled={isLocked}
                autofocus={autofocus && day === WEEK[0]}
              />
              <span>{DAYS[day]}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <div class="pair short">
        <Field
          name="windowFrom"
          label="From"
          hint="Such as 09:00."
          value={text.windowFrom}
          autocomplete="off"
          optional
        />
        <Field
          name="windowUntil"
          label="Until"
          hint="Such as 17:00."
          value={text.windowUntil}
          autocomplete="off"
          optional
        />
      </div>
    </section>
  )
}

const PersonFields = ({ text }: { text: LimitsText }) => (
  <section>
    <h2>Limits per person</h2>
    <p class="hint">Counts lifecycle emails from all messages. Transactional emails are not limited.</p>
    <div class="pair short">
      <Field
        name="perPersonDay"
        label="Lifecycle emails per day"
        hint="Empty: no limit."
        value={text.perPersonDay}
        autocomplete="off"
        optional
      />
      <Field
        name="perPersonWeek"
        label="Lifecycle emails per week"
        hint="Empty: no limit."
        value={text.perPersonWeek}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

const PaceFields = ({ text, limits }: { text: LimitsText; limits: LearnedLimits | null }) => (
  <section>
    <h2>Pace</h2>
    <p class="hint">If the mail server accepts less, Eventpost slows down.</p>
    <LearnedLimitsText limits={limits} />
    <div class="pair short">
      <Field
        name="perSecond"
        label="Emails per second"
        hint="Maximum. Default: 100."
        value={text.perSecond}
        autocomplete="off"
        optional
      />
      <Field
        name="connections"
        label="Connections at a time"
        hint={`Maximum. Default: ${MOST_CONNECTIONS}.`}
        value={text.connections}
        autocomplete="off"
        optional
      />
      <Field
        name="giveUpHours"
        label="Give up after"
        hint="Hours after an email could first be sent. Default: 72."
        value={text.giveUpHours}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)
