/** @jsxImportSource preact */
import { type BrakeText, writeBrake } from '../../accounts/sender-settings.ts'
import { DAY_MS } from '../../core/clock.ts'
import { formatCount } from '../../core/count.ts'
import {
  BRAKE_DAYS,
  BRAKE_DEFAULTS,
  CEILINGS,
  describeBrakeCause,
  FEWEST,
  formatPercent,
  limitOf,
  type Rates,
  rateState,
  shownRate,
  TARGETS,
} from '../../deliveries/brake.ts'
import type { BrakeKind } from '../../store/brake-rules.ts'
import { pathOf } from '../layout/frame.tsx'
import { Badge, type Mood } from '../ui/badge.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { findHooked, WEBHOOKS } from './webhooks-section.tsx'
import { isOwner, type Refused, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'

/** The longer of the two ranges. */
export const RATE_DAYS = 30

type RatesProps = {
  facts: SenderFacts
  refused: Refused<BrakeText>
  /** of the days that count for the brake */
  week: Rates
  month: Rates
  /** when a member released the brake last */
  releasedAt: number | null
  now: number
}

export const RatesPage = (props: RatesProps) => (
  <SenderFrame facts={props.facts} current="sender/rates" state={describeState(props)} refused={props.refused}>
    <RatesSection {...props} />
    <BrakeSection {...props} />
  </SenderFrame>
)

function describeState({ facts, week }: RatesProps): string {
  if (facts.mail.brake) return 'Lifecycle emails wait: too many emails bounced or were reported as spam.'
  if (week.emails === 0) return `No emails in the last ${BRAKE_DAYS} days.`
  if (isUnheard(facts) && week.complaints + week.bounces === 0)
    return `${week.emails === 1 ? '1 email' : `${formatCount(week.emails)} emails`} in the last ${BRAKE_DAYS} days.`
  const [complaints, bounces] = [shownRate('complaints', week), shownRate('bounces', week)]
  if (complaints === null && bounces === null) return describeFew(week)
  const reported =
    complaints === null
      ? `${describeCount(week.complaints)} of ${week.emails} emails ${was(week.complaints)}`
      : `${complaints} of the emails were`
  const bounced = bounces ?? `${describeCount(week.bounces)} of ${week.emails}`
  return `In the last ${BRAKE_DAYS} days, ${reported} reported as spam and ${bounced} bounced.`
}

const describeCount = (count: number): string => (count === 0 ? 'none' : String(count))
const was = (count: number): string => (count > 1 ? 'were' : 'was')

function describeFew({ emails, complaints, bounces }: Rates): string {
  const sent = emails === 1 ? '1 email' : `${emails} emails`
  return `Only ${sent} in the last ${BRAKE_DAYS} days, too few to tell: ${describeCount(bounces)} bounced, and ${describeCount(complaints)} ${was(complaints)} reported as spam.`
}

/** What providers ask for, and at which rate they act: docs/rates.md has the sources. */
type Row = { kind: BrakeKind; name: string; asked: string; acts: string }

const ROWS: Row[] = [
  {
    kind: 'complaints',
    name: 'Spam complaints',
    asked: `Below ${formatPercent(TARGETS.complaints)} (Gmail, Amazon SES) or ${formatPercent(CEILINGS.complaints)} (Yahoo)`,
    acts: `${formatPercent(CEILINGS.complaints)} (Gmail) or 0.5% (Amazon SES)`,
  },
  {
    kind: 'bounces',
    name: 'Hard bounces',
    asked: `Below ${formatPercent(TARGETS.bounces)} (Amazon SES)`,
    acts: `${formatPercent(CEILINGS.bounces)} (Amazon SES)`,
  },
]

const STATES: Record<ReturnType<typeof rateState> | 'unheard', { word: string; mood: Mood }> = {
  unheard: { word: 'Not reported', mood: 'quiet' },
  few: { word: 'Too few emails', mood: 'quiet' },
  good: { word: 'Good', mood: 'good' },
  high: { word: 'High', mood: 'caution' },
  over: { word: 'Too high', mood: 'bad' },
}

const RatesSection = ({ facts, week, month }: RatesProps) => (
  <section id="rates">
    <h2>Rates</h2>
    <Table
      label="Spam complaints and bounces"
      columns={columnsOf({ week, month, facts })}
      rows={ROWS}
      idOf={({ kind }) => kind}
    />
    <p class="hint after-table">
      All of this app's emails count, on the day (UTC) they were sent. <a href="/docs/rates">Learn more</a>
    </p>
    <Unheard facts={facts} />
  </section>
)

const columnsOf = ({ week, month, facts }: Pick<RatesProps, 'week' | 'month' | 'facts'>): Column<Row>[] => [
  { name: 'Rate', cell: ({ name }) => <b>{name}</b>, isUnlabelled: true },
  { name: `${BRAKE_DAYS} days`, cell: ({ kind }) => <Rate kind={kind} rates={week} facts={facts} /> },
  { name: `${RATE_DAYS} days`, cell: ({ kind }) => <Rate kind={kind} rates={month} facts={facts} /> },
  { name: 'Providers ask for', cell: ({ asked }) => asked },
  { name: 'They act at', cell: ({ acts }) => acts },
  { name: `Brake at (${BRAKE_DAYS} days)`, cell: ({ kind }) => formatPercent(limitOf(kind, facts.settings)) },
]

const Rate = ({ kind, rates, facts }: Pick<RatesProps, 'facts'> & { kind: BrakeKind; rates: Rates }) => {
  if (rates.emails === 0) return <span class="hint">No emails</span>
  const state = rates[kind] === 0 && isUnheard(facts) ? 'unheard' : rateState(kind, rates)
  const { word, mood } = STATES[state]
  return (
    <span class="with-badge unbroken">
      {shownRate(kind, rates)}
      <span class="hint">{`${formatCount(rates[kind])} of ${formatCount(rates.emails)}`}</span>
      <Badge mood={mood}>{word}</Badge>
    </span>
  )
}

/** Without reports, most bounces and all complaints stay unknown. */
const isUnheard = ({ settings, mailRoute }: SenderFacts): boolean =>
  mailRoute.server !== null && settings.hookSecrets === null && settings.bounceSecret === null

const Unheard = ({ facts }: Pick<RatesProps, 'facts'>) =>
  !isUnheard(facts) ? null : (
    <Notice kind="caution">
      Nothing reports bounces and complaints to this app yet, so the rates look better than they are.{' '}
      <a href={`${pathOf(facts.viewer.app.publicId, 'sender/server')}#${findHooked(facts) ? WEBHOOKS : 'reports'}`}>
        Set up reports
      </a>
      .
    </Notice>
  )

const BrakeSection = ({ facts, refused, releasedAt, now }: RatesProps) => {
  const { viewer, settings, mail } = facts
  const limit = (kind: BrakeKind): string => formatPercent(limitOf(kind, settings))
  const text = refused.text ?? writeBrake(settings)
  return (
    <section id="brake">
      <h2>Brake</h2>
      {mail.brake && (
        <Notice kind="problem">
          {`${describeBrakeCause(mail.brake)}, so lifecycle emails have waited since `}
          <ExactTime at={mail.brake.since} />. None are lost. They are sent once the rate has fallen.
        </Notice>
      )}
      <p>
        {`If ${limit('complaints')} of the emails from the last ${BRAKE_DAYS} days are reported as spam, or ${limit('bounces')} bounce, lifecycle emails wait until the rate has fallen. Transactional emails are still sent. The brake needs at least ${FEWEST.emails} emails, and ${FEWEST.complaints} complaints or ${FEWEST.bounces} bounces.`}
      </p>
      {mail.brake && isOwner(viewer) && (
        <Dialog id="release" opener="Release the brake" title="Release the brake?">
          <p>Waiting lifecycle emails are checked again and sent. From then on, the brake counts only newer emails.</p>
          <ActionForm action={`${pathOf(viewer.app.publicId, 'sender/rates')}/release`} kind="primary">
            Release the brake
          </ActionForm>
        </Dialog>
      )}
      {releasedAt !== null && now - releasedAt < BRAKE_DAYS * DAY_MS && (
        <p class="hint">
          Released <Time at={releasedAt} now={now} />. The brake counts only emails sent since.
        </p>
      )}
      <SettingsForm {...{ facts, refused }} page="sender/rates" of="brake" submit="Save">
        <div class="pair short">
          <Field
            name="complaintLimit"
            label="Complaints, in percent"
            hint={`Default: ${BRAKE_DEFAULTS.complaints}.`}
            value={text.complaintLimit}
            autocomplete="off"
            optional
          />
          <Field
            name="bounceLimit"
            label="Bounces, in percent"
            hint={`Default: ${BRAKE_DEFAULTS.bounces}.`}
            value={text.bounceLimit}
            autocomplete="off"
            optional
          />
        </div>
      </SettingsForm>
    </section>
  )
}
