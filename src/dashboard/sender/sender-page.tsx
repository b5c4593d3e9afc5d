/** @jsxImportSource preact */
import { SenderFields, type SenderProps } from './sender-fields.tsx'
import type { MailRoute } from '../../messages/mailer.ts'
import { hasRole } from '../../accounts/members.ts'
import { ChecksSection, DkimSection, DomainsSection } from './sender-domain.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { MailNotices } from '../layout/mail-notices.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { MailPreview } from '../ui/mail-preview.tsx'
import { Form, FormNotices, NOT_SAVED } from '../ui/form.tsx'
import { SentText } from '../ui/text.tsx'
import { Value, Values } from '../ui/values.tsx'
import { ServerSection } from './sender-server.tsx'

export const SenderPage = (props: SenderProps) => {
  const { viewer, typed, input, basedOn, notice, settings } = props
  const isOwner = hasRole(viewer.member.role, 'owner')
  const locked = !isOwner && 'Only owners of the account can change the sender.'
  return (
    <Frame viewer={viewer} page="sender" title="Sender" state={<State {...props} />}>
      <FormNotices notice={typed && typed.errors.length > 0 ? NOT_SAVED : notice} locked={locked} />
      <MailNotices viewer={viewer} state={props.mail} on="sender" />
      <Form
        action={pathOf(viewer.app.publicId, 'sender')}
        hidden={{ basedOn: basedOn.sender }}
        errors={typed?.errors}
        isLocked={!isOwner}
        submit="Save"
      >
        <SenderFields input={input} app={viewer.app} settings={settings} isOwner={isOwner} />
      </Form>
      <DomainsSection {...props} />
      <ServerSection {...props} />
      <SampleSection {...props} />
      <DkimSection {...props} isOwner={isOwner} />
      <ChecksSection {...props} />
      <ReportsSection {...props} isOwner={isOwner} />
    </Frame>
  )
}

const State = ({ mailRoute: { from, server, isUnreadable } }: SenderProps) => (
  <>
    {from === null ? (
      'No sender yet. Set an address before a message goes live.'
    ) : (
      <>
        Emails come from <SentText>{nameOf(from)}</SentText>
        {server === null ? '' : ` through ${server}`}.
      </>
    )}
    {isUnreadable && ' The saved mail server cannot be read.'}
  </>
)

const nameOf = (from: MailRoute['from']): string => {
  if (from === null) return 'No sender yet'
  return from.name === '' ? from.address : `${from.name} <${from.address}>`
}

const SampleSection = ({ viewer, mailRoute: { from }, sample }: SenderProps) =>
  sample && (
    <section>
      <h2>Sample email</h2>
      <p class="hint">Uses the saved settings.</p>
      <MailPreview
        name="sample"
        mail={{ ...sample, from: nameOf(from), src: `${pathOf(viewer.app.publicId, 'sender')}/sample` }}
      />
    </section>
  )

const SecretForm = ({ viewer, basedOn, settings }: SenderProps) => {
  const form = { action: `${pathOf(viewer.app.publicId, 'sender')}/reports`, fields: { basedOn: basedOn.reports } }
  return settings.bounceSecret === null ? (
    <ActionForm {...form}>Make a secret</ActionForm>
  ) : (
    <Dialog id="new-secret" opener="Make a new secret" title="Make a new secret?">
      <p>Reports signed with the current secret are refused until your provider uses the new one.</p>
      <ActionForm {...form}>Make a new secret</ActionForm>
    </Dialog>
  )
}

/** Bounces reported by signed webhooks (docs: bounces). */
const ReportsSection = ({ isOwner, ...props }: SenderProps & { isOwner: boolean }) => (
  <section>
    <h2>Bounce reports</h2>
    <p>
      Your mail provider reports bounces and complaints to this address in signed requests. Those people won't get any
      more email.
    </p>
    <Values>
      <Value id="report-url" name="Address">
        {`${props.baseUrl}/hooks/bounces/${props.viewer.app.publicId}`}
      </Value>
    </Values>
    <p class="hint">
      {props.settings.bounceSecret === null ? 'No secret yet. Every report is refused.' : 'The secret is set.'}
    </p>
    {isOwner && <SecretForm {...props} />}
  </section>
)
