/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import type { ServerCheck } from '../../messages/mailer.ts'
import { describeReply, describeServerFault } from '../../deliveries/describe-reason.ts'
import { isRefusal, REFUSALS, type Refusal } from '../../core/refusals.ts'
import { pathOf } from '../layout/frame.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import type { SenderProps } from './sender-fields.tsx'

const ID = 'server-check'

/** Tests the connection to the mail server. */
export const ServerSection = ({ viewer, mailRoute: { from, server }, serverCheck }: SenderProps) =>
  server !== null &&
  hasRole(viewer.member.role, 'editor') && (
    <section id={ID}>
      <h2>Mail server check</h2>
      <p>
        Connects to <code>{server}</code> and logs in with the saved settings. Nothing is sent.
      </p>
      <div role="status">
        {serverCheck && <CheckResult check={serverCheck} server={server} from={from?.address ?? null} />}
      </div>
      <ActionForm action={`${pathOf(viewer.app.publicId, 'sender')}/server#${ID}`}>
        {serverCheck === null ? 'Check the mail server' : 'Check again'}
      </ActionForm>
    </section>
  )

type Found = { check: ServerCheck | Refusal; server: string; from: string | null }

function CheckResult({ check, server, from }: Found) {
  if (isRefusal(check)) return <Notice kind="error">{check.message ?? REFUSALS[check.refusal].message}</Notice>
  if (check.is === 'failed') {
    return (
      <Notice kind="error">
        {`${describeServerFault(check.reason)}${check.reply === undefined ? '' : ` ${describeReply(check.reply)}`}`}
      </Notice>
    )
  }
  return (
    <Notice kind="done">
      {server} answers{check.isSecure ? ', the connection is secure' : ', without a secure connection'}
      {LOGINS[check.login]}
      {from !== null && ` To see whether it accepts emails from ${from}, send a test email from a message.`}
    </Notice>
  )
}

const LOGINS: Record<Extract<ServerCheck, { is: 'fine' }>['login'], string> = {
  taken: ', and it took the user name and password.',
  unasked: '. It offers no way to log in, so the user name and password were not used.',
  none: '. No user name is set, so none was used.',
}
