/** @jsxImportSource preact */
import { HOOK_SECRETS, hookPath, readHookSecrets } from '../../accounts/hook-secrets.ts'
import { findProvider, type MailProvider } from '../../accounts/mail-providers.ts'
import { hasRole } from '../../accounts/members.ts'
import { formatShortDuration } from '../../core/format-time.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { LastReport } from '../../store/delivery-reports.ts'
import type { TestResult } from '../../messages/mailer.ts'
import { pathOf } from '../layout/frame.tsx'
import { SentTest } from '../messages/message-test.tsx'
import { ActionForm, Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import { isOwner, type SenderFacts } from './sender-frame.tsx'

export const WEBHOOKS = 'webhooks'

/** `test`: of the email just sent to the provider's simulator. */
export type WebhooksShown = { errors?: FieldError[]; test: TestResult | null }

type Hooks = NonNullable<MailProvider['hooks']>
type Hooked = Pick<MailProvider, 'name'> & { hooks: Hooks }

type Props = { facts: SenderFacts; provider: Hooked; reports: LastReport[]; shown: WebhooksShown; now: number }

/** The provider that sends the app's emails; null if its webhooks can't be read, or don't name the delivery. */
export function findHooked({ mailRoute: { isApi, provider } }: Pick<SenderFacts, 'mailRoute'>): Hooked | null {
  const found = provider === null ? null : findProvider(provider)
  if (!found?.hooks || !(isApi || found.smtpHeaders)) return null
  return { name: found.name, hooks: found.hooks }
}

export const WebhooksSection = (props: Props) => {
  const { facts, provider, now } = props
  const { name, hooks } = provider
  const reports = props.reports.filter((one) => one.provider === hooks.name)
  return (
    <section id={WEBHOOKS}>
      <h2>Webhooks</h2>
      <p class="hint">
        {`${name} reports what happened to your emails, such as bounces. ${hooks.hint}`} <a href={DOCS}>Learn more</a>
      </p>
      {HOOK_SECRETS[hooks.name] === 'url' ? <SecretUrl {...props} /> : <SigningSecret {...props} />}
      <Received reports={reports} now={now} />
      {isSet(facts, hooks) && <TestForm {...props} reports={reports} />}
    </section>
  )
}

const DOCS = '/docs/providers#webhooks'

const isSet = ({ settings }: SenderFacts, { name }: Hooks): boolean => readHookSecrets(settings)[name] !== undefined

/** The provider doesn't sign, so the URL is the secret. */
const SecretUrl = ({ facts, provider: { name, hooks } }: Props) => {
  const { viewer, marks } = facts
  const action = `${pathOf(viewer.app.publicId, 'sender')}/webhooks/url`
  const form = { action, fields: { basedOn: marks.webhooks, provider: hooks.name } }
  if (!isSet(facts, hooks)) {
    return (
      <>
        <p>{`No webhook URL yet, so ${name} can't report bounces.`}</p>
        {isOwner(viewer) && <ActionForm {...form}>Create the webhook URL</ActionForm>}
      </>
    )
  }
  return (
    <>
      <p>The webhook URL contains a secret and was shown once.</p>
      {isOwner(viewer) && (
        <Dialog id="new-webhook" opener="Create a new URL" title="Create a new webhook URL?">
          <p>{`The current URL stops working. Replace it in ${name}.`}</p>
          <ActionForm {...form}>Create a new URL</ActionForm>
        </Dialog>
      )}
    </>
  )
}

function SigningSecret({ facts, provider, shown }: Props) {
  const { viewer, marks, baseUrl, topicToken, settings } = facts
  const { name, hooks } = provider
  const saved = readHookSecrets(settings)[hooks.name]
  const signing = HOOK_SECRETS[hooks.name]
  const { label = '', isTopic = false } = signing === 'url' ? {} : signing
  const token = isTopic ? topicToken : undefined
  return (
    <>
      {isTopic && !isOwner(viewer) ? (
        <p>Only owners can see the URL.</p>
      ) : (
        <Values>
          <Value id="webhook-url" name="URL">
            {`${baseUrl}${hookPath(hooks.name, viewer.app.publicId, token)}`}
          </Value>
        </Values>
      )}
      {saved === undefined && (
        <p>
          {isTopic
            ? 'No topic yet. The first subscription to this URL is confirmed, and its topic is saved.'
            : `No ${lowerFirst(label)} yet, so every webhook is refused.`}
        </p>
      )}
      {isOwner(viewer) && (
        <Form
          action={`${pathOf(viewer.app.publicId, 'sender')}/webhooks/secret#${WEBHOOKS}`}
          id="webhook-secret"
          hidden={{ basedOn: marks.webhooks, provider: hooks.name }}
          errors={shown.errors}
        >
          <Field name="hookSecret" label={label} {...(isTopic ? showTopic(saved) : hideSecret(saved, name))} />
          <div class="buttons">
            <Button>{`Save the ${lowerFirst(label)}`}</Button>
          </div>
        </Form>
      )}
    </>
  )
}

const hideSecret = (saved: string | undefined, name: string) => ({
  kind: 'password' as const,
  hint: saved === undefined ? `Copy it from ${name}.` : 'Saved. Enter another to replace it.',
  autocomplete: 'new-password',
})

const showTopic = (saved = '') => ({
  value: saved,
  hint: 'Messages from other topics are refused.',
  autocomplete: 'off',
})

/** "HTTP" stays. */
const lowerFirst = (label: string): string => label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())

const KINDS: [LastReport['kind'], string][] = [
  ['delivered', 'Delivered'],
  ['delayed', 'Delayed'],
  ['bounced', 'Bounced'],
  ['softBounced', 'Soft bounce'],
  ['blocked', 'Blocked'],
  ['complained', 'Reported as spam'],
]

type Received = Pick<Props, 'reports' | 'now'>

/** When each kind last arrived. */
function Received({ reports, now }: Received) {
  const found = KINDS.flatMap(([kind, name]) => reports.flatMap((one) => (one.kind === kind ? [{ ...one, name }] : [])))
  if (found.length === 0) return <p class="hint">No webhook about an email has arrived yet.</p>
  return (
    <Values isCompact>
      {found.map(({ kind, name, lastAt }) => (
        <Fact key={kind} name={name}>
          <Time at={lastAt} now={now} />
        </Fact>
      ))}
    </Values>
  )
}

const TestForm = ({ facts: { viewer }, provider, reports, shown: { test }, now }: Props) => {
  const { name, hooks } = provider
  const to = hooks.simulator ?? viewer.member.email
  return (
    <>
      <p class="hint">
        The test sends an email to <SentText>{to}</SentText>
        {hooks.simulator === null
          ? `. ${name} then reports that it was delivered.`
          : `, an address at ${name} that always bounces.`}
      </p>
      <div role="status">
        {test && !('is' in test && test.is === 'sent') ? (
          <SentTest viewer={viewer} to={to} whose={null} result={test} />
        ) : (
          <Returned reports={reports} now={now} />
        )}
      </div>
      {hasRole(viewer.member.role, 'editor') && (
        <div class="buttons">
          <ActionForm action={`${pathOf(viewer.app.publicId, 'sender')}/webhooks/test#${WEBHOOKS}`}>
            Test the webhook
          </ActionForm>
        </div>
      )}
    </>
  )
}

/** Whether the last test came back. */
function Returned({ reports, now }: Received) {
  const lastOf = (kind: LastReport['kind']) => reports.find((one) => one.kind === kind)?.lastAt ?? null
  const [sentAt, cameAt] = [lastOf('testSent'), lastOf('testCame')]
  if (sentAt === null) return null
  if (cameAt === null || cameAt < sentAt) {
    return (
      <Notice kind="info">
        The last test was sent <Time at={sentAt} now={now} />. Its report has not arrived yet: reload this page in a
        moment.
      </Notice>
    )
  }
  return (
    <Notice kind="done">{`The report about the last test arrived after ${formatShortDuration(cameAt - sentAt)}.`}</Notice>
  )
}
