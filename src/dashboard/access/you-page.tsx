/** @jsxImportSource preact */
import type { SessionRow } from '../../accounts/sessions.ts'
import type { TwoStepRow } from '../../accounts/two-step.ts'
import type { Owner } from '../../store/weekly-summaries.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Page } from '../layout/paging.ts'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { PASSWORD_HINT } from '../../accounts/passwords.ts'
import { ROLE_PHRASES } from '../../accounts/members.ts'
import { TwoStepSection } from './two-step-section.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** `errors` of the password form; notices of the other sections */
export type YouErrors = { errors?: FormError[]; twoStepNotice?: string; sessionsNotice?: string }

type YouProps = {
  viewer: Viewer
  sessions: SessionRow[]
  shown: Page<SessionRow>
  currentId: string
  twoStep: TwoStepRow | null
  /** accounts that require two-step sign-in */
  requiredBy: string[]
  /** null: no owner of the account */
  summary: Pick<Owner, 'weeklySummary'> | null
  now: number
} & YouErrors

export const YouPage = (props: YouProps) => (
  <Frame
    viewer={props.viewer}
    page="you"
    title="Your profile"
    state={`You are ${props.viewer.member.email}, ${ROLE_PHRASES[props.viewer.member.role]} of the account ${props.viewer.account.name}.`}
  >
    <PasswordSection {...props} />
    <TwoStepSection {...props} error={props.twoStepNotice} />
    {props.summary && <SummarySection viewer={props.viewer} isOn={props.summary.weeklySummary} />}
    <SessionsSection {...props} />
  </Frame>
)

const PasswordSection = ({ viewer, errors }: YouProps) => (
  <section>
    <h2>Password</h2>
    <p class="hint">Changing it ends all your other sessions.</p>
    <Form
      action={`${pathOf(viewer.app.publicId, 'you')}/password`}
      username={viewer.member.email}
      errors={errors}
      submit="Change the password"
      kind="plain"
    >
      <Field name="password" label="Current password" kind="password" autocomplete="current-password" />
      <Field name="newPassword" label="New password" kind="password" hint={PASSWORD_HINT} autocomplete="new-password" />
    </Form>
  </section>
)

const SummarySection = ({ viewer, isOn }: { viewer: Viewer; isOn: boolean }) => (
  <section id="summary">
    <div class="with-badge">
      <h2>Weekly summary</h2>
      {isOn ? <Badge mood="good">On</Badge> : <Badge>Off</Badge>}
    </div>
    <p class="hint">
      An email on Mondays: how many people {viewer.account.name} emailed, how many came back, and what needs attention.
      Alerts are sent either way.
    </p>
    <ActionForm action={`${pathOf(viewer.app.publicId, 'you')}/summary`} fields={{ on: isOn ? 'no' : 'yes' }}>
      {isOn ? 'Turn off' : 'Turn on'}
      <span class="unseen"> the weekly summary</span>
    </ActionForm>
  </section>
)

const SessionsSection = ({ viewer, sessions, shown, currentId, now, sessionsNotice }: YouProps) => (
  <section>
    <div class="section-head">
      <h2>Sessions</h2>
      {sessions.length > 1 && (
        <ActionForm action={`${pathOf(viewer.app.publicId, 'you')}/sessions`}>End all other sessions</ActionForm>
      )}
    </div>
    <p class="hint">
      A session ends after 12 hours of inactivity, and no later than 30 days after sign-in. You can have up to 20
      sessions; another sign-in ends the least recently used one.
    </p>
    {sessionsNotice && <Notice kind="error">{sessionsNotice}</Notice>}
    <Table
      label="Sessions"
      columns={columnsOf(viewer, currentId, now)}
      rows={shown.rows}
      idOf={({ id }) => id}
      hasSideAction
    />
    <Pager {...shown} />
  </section>
)

const columnsOf = (viewer: Viewer, currentId: string, now: number): Column<SessionRow>[] => [
  {
    name: 'Browser',
    cell: ({ id, browser }) => (
      <span class="with-badge">
        {browser} {id === currentId && <Badge mood="good">This browser</Badge>}
      </span>
    ),
  },
  { name: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
  { name: 'Last used', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} now={now} /> },
  {
    name: 'End',
    isAction: true,
    cell: ({ id, browser }) =>
      id !== currentId && (
        <ActionForm action={`${pathOf(viewer.app.publicId, 'you')}/sessions`} fields={{ session: id }}>
          End<span class="unseen">{` the session of ${browser}`}</span>
        </ActionForm>
      ),
  },
]
