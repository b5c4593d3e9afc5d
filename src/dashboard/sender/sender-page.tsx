/** @jsxImportSource preact */
import { SenderFields, type About, type SenderProps } from './sender-fields.tsx'
import type { MailRoute } from '../../messages/mailer.ts'
import { hasRole } from '../../accounts/members.ts'
import { ChecksSection, DkimSection, DomainsSection } from './sender-domain.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { MailNotices } from '../layout/mail-notices.tsx'
import { ActionForm, Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { MailPreview } from '../ui/mail-preview.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { Value, Values } from '../ui/values.tsx'
import { ServerSection } from './sender-server.tsx'

export function SenderPage(props: SenderProps) {
  const { viewer, typed, input, notice } = props
  const errors = typed?.errors ?? []
  const isOwner = hasRole(viewer.member.role, 'owner')
  const about: About = (name) => {
    const error = errors.find(({ field }) => field === name)?.message
    return { name, error, autofocus: errors[0]?.field === name, isLocked: !isOwner }
  }
  return (
    <Frame viewer={viewer} page="sender" title="Sender" state={<State {...props} />}>
      {notice && <Notice kind="error">{notice}</Notice>}
      {errors.length > 0 && <Notice kind="error">Nothing was saved yet. Look at the marked fields again.</Notice>}
      {!isOwner && <Notice kind="info">Only owners of the account change the sender.</Notice>}
      <MailNotices viewer={viewer} state={props.mail} on="sender" />
      <form method="post" action={pathOf(viewer.app.publicId, 'sender')} novalidate>
        <SenderFields input={input} about={about} app={viewer.app} settings={props.settings} isOwner={isOwner} />
        {isOwner && <Button kind="primary">Save</Button>}
      </form>
      <DomainsSection {...props} />
      <ServerSection {...props} />
      <SampleSection {...props} />
      <DkimSection {...props} about={about} isOwner={isOwner} />
      <ChecksSection {...props} />
      <ReportsSection {...props} isOwner={isOwner} />
    </Frame>
  )
}

const State = ({ way: { from, server, isUnreadable } }: SenderProps) => (
  <>
    {from === null ? (
      'There is no sender yet, so no message can go live.'
    ) : (
      <>
        Mails come from <SentText>{nameOf(from)}</SentText>
        {server === null ? '' : ` and leave through ${server}`}.
      </>
    )}
    {isUnreadable && ' The address of the mail server cannot be read.'}
  </>
)

const nameOf = (from: MailRoute['from']): string => {
  if (from === null) return 'No sender yet'
  return from.name === '' ? from.address : `${from.name} <${from.address}>`
}

const SampleSection = ({ viewer, way: { from }, sample }: SenderProps) =>
  sample && (
    <section>
      <h2>A mail of this app</h2>
      <p class="hint">As it looks with what is saved.</p>
      <MailPreview
        name="sample"
        mail={{ ...sample, from: nameOf(from), src: `${pathOf(viewer.app.publicId, 'sender')}/sample` }}
      />
    </section>
  )

const SecretForm = ({ viewer, isNew }: { viewer: SenderProps['viewer']; isNew: boolean }) => {
  const action = `${pathOf(viewer.app.publicId, 'sender')}/reports`
  return isNew ? (
    <ActionForm action={action}>Make a secret</ActionForm>
  ) : (
    <Dialog id="new-secret" opener="Make a new secret" title="Make a new secret?">
      <p>Reports that are signed with the present one are refused from then on, until your provider has the new one.</p>
      <ActionForm action={action}>Make a new secret</ActionForm>
    </Dialog>
  )
}

/** Bounces reported by signed webhooks (docs: bounces). */
const ReportsSection = ({ viewer, settings, baseUrl, isOwner }: SenderProps & { isOwner: boolean }) => (
  <section>
    <h2>Reports of your mail provider</h2>
    <p>
      What bounced after it was taken, and who complained, is told by a signed request to this address. Its person gets
      no more mail.
    </p>
    <Values>
      <Value id="report-url" name="Address">
        {`${baseUrl}/hooks/bounces/${viewer.app.publicId}`}
      </Value>
    </Values>
    <p class="hint">
      {settings.bounceSecret === null ? 'There is no secret yet, so every report is refused.' : 'The secret is set.'}
    </p>
    {isOwner && <SecretForm viewer={viewer} isNew={settings.bounceSecret === null} />}
  </section>
)
