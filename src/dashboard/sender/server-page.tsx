/** @jsxImportSource preact */
import { formatCounted } from '../../core/count.ts'
import { hasRole } from '../../accounts/members.ts'
import { type ApiText, AWS_REGIONS, storedKey, writeApiText } from '../../accounts/api-account.ts'
import { MAIL_PROVIDERS, type MailProvider, providerOfApi, providerOfHost } from '../../accounts/mail-providers.ts'
import {
  NO_SERVER,
  type ServerText,
  UNREADABLE_SERVER,
  writeProvider,
  writeServer,
} from '../../accounts/mail-server.ts'
import { isLoopback, type SmtpServer } from '../../core/mail-addresses.ts'
import { type ApiAccount, defaultStreamOf, isApi, isAws, type MailService, readMailUrl } from '../../core/mail-apis.ts'
import { isRefusal, REFUSALS, type Refusal } from '../../core/refusals.ts'
import { describeApiFault, describeReply, describeServerFault } from '../../deliveries/describe-reason.ts'
import { publicId } from '../../core/ids.ts'
import type { AccountNote, ServerCheck, TestResult } from '../../messages/mailer.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { pathOf } from '../layout/frame.tsx'
import { SERVER_CHECK } from '../layout/mail-notices.tsx'
import { SentTest } from '../messages/message-test.tsx'
import { messagePath } from '../messages/messages-page.tsx'
import { ActionForm, Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Folding } from '../ui/folding.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Command, SentText, Ticked } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { Value, Values } from '../ui/values.tsx'
import type { LastReport } from '../../store/delivery-reports.ts'
import { findHooked, WebhooksSection, type WebhooksShown } from './webhooks-section.tsx'
import { LearnedLimitsText } from './learned-limits.tsx'
import { isOwner, type Refused, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'

type ServerProps = {
  facts: SenderFacts
  refused: Refused<ServerText | ApiText>
  /** preset chosen in the URL, for SMTP if that is asked for */
  provider: MailProvider | null
  isSmtpAsked: boolean
  /** the operator named private servers that apps can use */
  allowsPrivate: boolean
  /** of the typed server, which was not saved */
  failed: { check: ServerCheck | Refusal; server: string; isApi: boolean } | null
  /** a typed password; empty without one */
  sealed: string
  /** emails in the outbox, up to `MOST_COUNTED` + 1 */
  captured: number
  /** of the saved server; null if not requested */
  check: ServerCheck | Refusal | null
  /** of the email just sent to the member */
  test: TestResult | null
  /** the message that led here */
  message: MessageRow | null
  webhooks: WebhooksShown
  reports: LastReport[]
  now: number
}

export const ServerPage = (props: ServerProps) => {
  const { facts, refused } = props
  return (
    <SenderFrame facts={facts} current="sender/server" state={<State {...facts} />} refused={refused}>
      {props.message && (
        <p class="way-back">
          <a href={messagePath(facts.viewer.app.publicId, props.message.id)}>
            Back to “<SentText most={60}>{props.message.name}</SentText>”
          </a>
        </p>
      )}
      <Captured {...props} />
      <div class="editor">
        <div>
          <ServerForm {...props} />
        </div>
        <aside aria-label="Saved mail server">
          <CheckSection {...props} />
          <Reports {...props} />
        </aside>
      </div>
    </SenderFrame>
  )
}

/** By the provider's webhooks, or else by a script. */
const Reports = ({ facts, webhooks, reports, now }: ServerProps) => {
  const provider = findHooked(facts)
  return (
    <>
      {provider && <WebhooksSection {...{ facts, provider, reports, now }} shown={webhooks} />}
      <Folding id="reports" title="Bounce reports" isFolded={provider !== null}>
        <ReportsSection {...facts} />
      </Folding>
    </>
  )
}

/** Emails from before there was a mail server. */
const Captured = ({ facts: { viewer, mailRoute }, captured }: ServerProps) => {
  if (mailRoute.server === null || mailRoute.isUnreadable || captured === 0) return null
  const emails = captured === 1 ? '1 captured email' : `${formatCounted(captured)} captured emails`
  return (
    <Notice kind="info">
      {emails} can be sent now. <a href={pathOf(viewer.app.publicId, 'outbox')}>Open the outbox</a>
    </Notice>
  )
}

const State = ({ viewer, mail, mailRoute, acceptedAt }: SenderFacts) => {
  const { server, isOwn, isUnreadable } = mailRoute
  if (isUnreadable) return `${UNREADABLE_SERVER} Set up the mail server again.`
  if (server === null) {
    return (
      <>
        No mail server yet. Emails are captured in the <a href={pathOf(viewer.app.publicId, 'outbox')}>outbox</a>, not
        sent.
      </>
    )
  }
  const verb = mail.problem?.isWaiting ? 'wait for' : 'go through'
  if (!isOwn) return `Emails ${verb} ${server}, the mail server of this installation.`
  return (
    <>
      Emails {verb} {server}.
      {acceptedAt !== null && (
        <>
          {' '}
          It accepted an email <Time at={acceptedAt} now={viewer.now} />.
        </>
      )}
    </>
  )
}

const savedService = ({ settings: { smtpUrl } }: SenderFacts): MailService | null =>
  smtpUrl === null ? null : readMailUrl(smtpUrl)

const savedServer = (facts: SenderFacts): SmtpServer | null => {
  const saved = savedService(facts)
  return saved === null || isApi(saved) ? null : saved
}

const savedAccount = (facts: SenderFacts): ApiAccount | null => {
  const saved = savedService(facts)
  return saved !== null && isApi(saved) ? saved : null
}

const SECURITIES = [
  { value: 'starttls', label: 'STARTTLS (port 587)' },
  { value: 'tls', label: 'TLS (port 465)' },
  { value: 'optional', label: 'Not required, may be unencrypted (no password)' },
]

/** What the form shows: what was refused, the chosen preset, or what is saved. */
function findText({ facts, refused, provider, isSmtpAsked }: ServerProps): ServerText | ApiText {
  if (refused.text) return refused.text
  const [saved, account] = [savedServer(facts), savedAccount(facts)]
  const api = provider === null ? account?.api : isSmtpAsked ? undefined : provider.api?.name
  if (api !== undefined) return writeApiText(api, account?.api === api ? account : null)
  if (provider !== null) return writeProvider(provider)
  return saved === null ? NO_SERVER : writeServer(saved)
}

const ServerForm = (props: ServerProps) => {
  const { facts, refused, failed, sealed, message } = props
  const { viewer } = facts
  const text = findText(props)
  const shown = 'api' in text ? providerOfApi(text.api) : (props.provider ?? providerOfHost(text.smtpHost))
  const isOther = shown === null && 'smtpHost' in text && text.smtpHost !== ''
  const path = pathOf(viewer.app.publicId, 'sender/server')
  return (
    <>
      {isOwner(viewer) && <Providers {...{ path, shown, isOther, message }} />}
      <SettingsForm
        {...{ facts, refused }}
        page="sender/server"
        of="server"
        id="server"
        hidden={{ sealed, ...('api' in text ? { api: text.api } : {}), ...backField(message) }}
      >
        {shown && isOwner(viewer) && <ProviderHint {...{ path, shown, message }} isByApi={'api' in text} />}
        {'api' in text ? (
          <ApiFields
            text={text}
            provider={shown}
            kept={isOwner(viewer) ? describeKey(facts, text, sealed) : undefined}
          />
        ) : (
          <ServerFields
            text={text}
            password={isOwner(viewer) ? describePassword(facts, text, sealed) : undefined}
            allowsPrivate={props.allowsPrivate}
          />
        )}
        {failed && <FailedCheck {...failed} />}
        {isOwner(viewer) && (
          <div class="buttons">
            <Button kind="primary">{failed ? 'Try again' : 'Save'}</Button>
            {failed && (
              <Button name="do" value="save_anyway">
                Save anyway
              </Button>
            )}
          </div>
        )}
        {isOwner(viewer) && !failed && (
          <p class="hint">
            {'api' in text
              ? `Before saving, Eventpost asks ${shown?.name} whether it accepts the key. Nothing is sent.`
              : 'Before saving, Eventpost connects, and logs in if there is a username. Nothing is sent.'}
          </p>
        )}
      </SettingsForm>
    </>
  )
}

type HintProps = Pick<ServerProps, 'message'> & { path: string; shown: MailProvider; isByApi: boolean }

/** Providers with an API can be used over SMTP too. */
const ProviderHint = ({ path, shown, isByApi, message }: HintProps) => {
  const { id, name, api, hint } = shown
  const query = new URLSearchParams({ provider: id, ...(isByApi ? { by: 'smtp' } : {}), ...backField(message) })
  return (
    <p class="hint provider-hint">
      {isByApi ? api?.hint : hint}{' '}
      {api && <a href={`${path}?${query}`}>{`Use ${isByApi ? 'SMTP' : `the ${name} API`} instead`}</a>}
    </p>
  )
}

const KEPT = { typed: 'Entered. Leave empty to keep it.', saved: 'Saved. Leave empty to keep it.' }

function describeKey(facts: SenderFacts, text: ApiText, sealed: string): string | undefined {
  if (sealed !== '') return KEPT.typed
  return storedKey(text, savedAccount(facts)) === null ? undefined : KEPT.saved
}

type ApiFieldsProps = { text: ApiText; provider: MailProvider | null; kept: string | undefined }

const ApiFields = ({ text, provider, kept }: ApiFieldsProps) => (
  <>
    {isAws(text.api) && <AwsFields {...text} />}
    <Field
      name="apiKey"
      label={provider?.api?.key ?? 'API key'}
      kind="password"
      hint={kept}
      autocomplete="new-password"
      optional={kept !== undefined && 'unmarked'}
    />
    {provider?.api?.stream && (
      <Field
        name="apiStream"
        {...provider.api.stream}
        value={text.apiStream}
        autocomplete="off"
        optional={defaultStreamOf(text.api) === null}
      />
    )}
  </>
)

const CHOOSE = { value: '', label: 'Choose a region' }
const REGIONS = AWS_REGIONS.map(([value, place]) => ({ value, label: `${value} (${place})` }))

/** A stored region that this list lacks stays selectable. */
const AwsFields = ({ awsRegion, awsKeyId }: ApiText) => {
  const isKnown = awsRegion === '' || REGIONS.some(({ value }) => value === awsRegion)
  const options = [CHOOSE, ...REGIONS, ...(isKnown ? [] : [{ value: awsRegion, label: awsRegion }])]
  return (
    <>
      <Select
        name="awsRegion"
        label="Region"
        hint="The region of your SES identity."
        value={awsRegion}
        options={options}
      />
      <Field name="awsKeyId" label="Access key ID" value={awsKeyId} autocomplete="off" />
    </>
  )
}

/** An empty field may stand for the saved password or for the one just typed. */
function describePassword(facts: SenderFacts, text: ServerText, sealed: string): string | undefined {
  if (sealed !== '') return KEPT.typed
  const saved = savedServer(facts)
  const isSame = saved?.login?.user === text.smtpUser && saved.host === text.smtpHost
  return isSame ? KEPT.saved : undefined
}

type ProvidersProps = Pick<ServerProps, 'message'> & { path: string; shown: MailProvider | null; isOther: boolean }

const backField = (message: MessageRow | null): { message?: string } =>
  message === null ? {} : { message: publicId('msg', message.id) }

/** Links, so that presets work without scripts. */
const Providers = ({ path, shown, isOther, message }: ProvidersProps) => (
  <nav class="choices" aria-label="Email provider">
    {MAIL_PROVIDERS.map(({ id, name }) => (
      <a
        key={id}
        href={`${path}?${new URLSearchParams({ provider: id, ...backField(message) })}`}
        aria-current={id === shown?.id ? 'true' : undefined}
      >
        {name}
      </a>
    ))}
    <a
      href={`${path}?${new URLSearchParams({ provider: 'other', ...backField(message) })}`}
      aria-current={isOther ? 'true' : undefined}
    >
      Other
    </a>
  </nav>
)

type FieldsProps = { text: ServerText; password: string | undefined; allowsPrivate: boolean }

const PRIVATE_HINT = (
  <>
    Private addresses need <Command>--mail-private-hosts</Command>.
  </>
)

const ServerFields = ({ text, password, allowsPrivate }: FieldsProps) => (
  <>
    <div class="pair host-and-port">
      <Field
        name="smtpHost"
        label="Host"
        hint={allowsPrivate ? undefined : PRIVATE_HINT}
        value={text.smtpHost}
        autocomplete="off"
      />
      <Field name="smtpPort" label="Port" kind="code" value={text.smtpPort} autocomplete="off" />
    </div>
    <Select name="smtpSecurity" label="Security" value={text.smtpSecurity} options={SECURITIES} />
    <div class="pair">
      <Field name="smtpUser" label="Username" value={text.smtpUser} autocomplete="off" optional />
      <Field
        name="smtpPassword"
        label="Password"
        kind="password"
        hint={password}
        autocomplete="new-password"
        optional
      />
    </div>
    <details class="fold" open={text.smtpCertificates !== ''}>
      <summary>Custom certificate</summary>
      <Field
        name="smtpCertificates"
        label="Certificate"
        kind="lines"
        rows={6}
        hint="For a server on your own network: its certificate, or its CA, in PEM."
        value={text.smtpCertificates}
        autocomplete="off"
        optional
      />
    </details>
  </>
)

const FailedCheck = (failed: NonNullable<ServerProps['failed']>) => (
  <Notice kind="error">
    <b>Not saved.</b> <CheckText {...failed} from={null} />
  </Notice>
)

/** null if emails are always encrypted on the way to the server. `check`: of the saved server, just now. */
function describePlain(server: SmtpServer | null, check: ServerProps['check']): string | null {
  if (server === null || server.isSecure || server.login !== null) return null
  const isLocal = isLoopback(server.host)
  if (!server.isTlsOptional && !isLocal) return null
  if (check !== null && (isRefusal(check) || check.is === 'failed' || check.isSecure)) return null
  const what =
    check === null
      ? 'The connection is encrypted only if this server offers STARTTLS'
      : 'The connection is not encrypted'
  const why = server.isTlsOptional
    ? 'its security is “Not required”'
    : 'the server runs on this machine and has no password'
  return `${what}. That is allowed because ${why}.`
}

const CheckSection = ({ facts, check, test, message }: ServerProps) => {
  const { viewer, mailRoute } = facts
  const { from, server, isOwn, isApi: isByApi } = mailRoute
  const plain = describePlain(savedServer(facts), check)
  const path = pathOf(viewer.app.publicId, 'sender/server')
  if (server === null) return null
  return (
    <section id={SERVER_CHECK}>
      <h2>Connection</h2>
      <p class="hint">
        {isByApi ? (
          `The check asks ${server} whether it accepts the key.`
        ) : (
          <>
            The check connects to <code>{server}</code>, and logs in if there is a username.
          </>
        )}{' '}
        A test email goes to <SentText>{viewer.member.email}</SentText>.
      </p>
      <LearnedLimitsText limits={facts.limits} />
      {plain !== null && <Notice kind="caution">{plain}</Notice>}
      <div role="status">
        {check && (
          <Notice kind={isFine(check) ? 'done' : 'error'}>
            <CheckText check={check} server={server} isApi={isByApi} from={from?.address ?? null} />
          </Notice>
        )}
        {test && <SentTest viewer={viewer} to={viewer.member.email} whose={null} result={test} />}
      </div>
      <div class="buttons">
        {hasRole(viewer.member.role, 'editor') && (
          <>
            <ActionForm action={`${path}/check#${SERVER_CHECK}`} fields={backField(message)}>
              {check === null ? 'Check the connection' : 'Check again'}
            </ActionForm>
            <ActionForm action={`${path}/test#${SERVER_CHECK}`} fields={backField(message)}>
              Send a test email
            </ActionForm>
          </>
        )}
        {isOwn && isOwner(viewer) && <RemoveServer {...facts} />}
      </div>
    </section>
  )
}

const RemoveServer = ({ viewer, marks }: SenderFacts) => (
  <Dialog id="remove-server" opener="Remove" kind="danger" title="Remove the mail server?">
    <p>Emails then go through the mail server of this installation. Without one, they are captured.</p>
    <ActionForm
      action={`${pathOf(viewer.app.publicId, 'sender/server')}/remove`}
      fields={{ basedOn: marks.server }}
      kind="danger"
    >
      Remove the mail server
    </ActionForm>
  </Dialog>
)

const isFine = (check: ServerCheck | Refusal): boolean => !isRefusal(check) && check.is === 'fine'

type Found = { check: ServerCheck | Refusal; server: string; isApi: boolean; from: string | null }

function CheckText({ check, server, isApi: isByApi, from }: Found) {
  if (isRefusal(check)) return <>{check.message ?? REFUSALS[check.refusal].message}</>
  if (check.is === 'failed') {
    return (
      <>
        <Ticked>{(isByApi ? describeApiFault : describeServerFault)(check.reason, server)}</Ticked>
        {check.reply !== undefined && (isExplained(check.reply) || !check.answer) && ` ${describeReply(check.reply)}`}
        {check.answer && (
          <>
            {' Its reply: “'}
            <SentText most={300}>{check.answer}</SentText>”
          </>
        )}
      </>
    )
  }
  return (
    <>
      {server} responds{check.isSecure ? ' over a secure connection' : ' without a secure connection'}
      {LOGINS[check.login]}
      {check.note && ` ${NOTES[check.note]}`}
      {from !== null && ` To see whether it accepts emails from ${from}, send a test email.`}
    </>
  )
}

/** With an enhanced code, such as `550 5.7.1`. */
const isExplained = (reply: string): boolean => reply.includes('.')

const LOGINS: Record<Extract<ServerCheck, { is: 'fine' }>['login'], string> = {
  taken: ' and accepts the username and password.',
  unasked: '. It offers no login, so the username and password were not used.',
  none: '. No username is set.',
  key: ' and accepts the API key.',
}

const NOTES: Record<AccountNote, string> = {
  sandbox: 'The account is in the sandbox: it can send only to verified addresses, and up to 200 emails a day.',
  paused: 'But Amazon SES has paused sending for this account.',
}

export const REPORT_DOCS = '/docs/api/report-bounce'

/** Bounces reported by signed requests. */
const ReportsSection = ({ viewer, settings, marks, baseUrl }: SenderFacts) => (
  <>
    <p class="hint">
      Optional. A script can report bounces from your own mail server, or from your provider's reports, to this URL.
      Reports are signed with a secret that an owner creates here. See <a href={REPORT_DOCS}>Report a bounce</a>.
    </p>
    <Values>
      <Value id="report-url" name="URL">
        {`${baseUrl}/hooks/bounces/${viewer.app.publicId}`}
      </Value>
    </Values>
    <p class="hint">
      {settings.bounceSecret === null
        ? 'No secret yet, so every report is refused.'
        : 'The secret is set. It was shown once.'}
    </p>
    {isOwner(viewer) && <SecretForm {...{ viewer, settings, marks }} />}
  </>
)

const SecretForm = ({ viewer, marks, settings }: Pick<SenderFacts, 'viewer' | 'marks' | 'settings'>) => {
  const form = { action: `${pathOf(viewer.app.publicId, 'sender')}/reports`, fields: { basedOn: marks.reports } }
  return settings.bounceSecret === null ? (
    <ActionForm {...form}>Create a secret</ActionForm>
  ) : (
    <Dialog id="new-secret" opener="Create a new secret" title="Create a new secret?">
      <p>Reports signed with the current secret are refused until your script uses the new one.</p>
      <ActionForm {...form}>Create a new secret</ActionForm>
    </Dialog>
  )
}
