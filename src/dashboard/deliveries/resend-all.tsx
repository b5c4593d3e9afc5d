/** @jsxImportSource preact */
import { formatCount, formatCounted } from '../../core/count.ts'
import { publicId } from '../../core/ids.ts'
import { MOST_RESENT, type Resent } from '../../deliveries/delivery-lists.ts'
import type { Brake } from '../../store/brake-rules.ts'
import { countFlash, type Flash } from '../layout/flash.ts'
import type { MailState } from '../../monitoring/mail-state.ts'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Notice } from '../ui/notice.tsx'

/** `state`: such as captured. `count`: up to `MOST_COUNTED` + 1. `until`: the newest that is sent. */
type Resending = { state: string; count: number; until: number; action: string }

type Opening = { opener: string; title: string; brake: Brake | null }

const nameEmails = ({ state, count }: Pick<Resending, 'state' | 'count'>): string =>
  count === 1 ? `1 ${state} email` : `${formatCounted(count)} ${state} emails`

/** Sends all emails of a list again, after a confirmation that counts them. */
export const ResendAll = ({ opener, title, brake, ...resending }: Resending & Opening) => {
  const { count } = resending
  return (
    <Dialog id="send-all" opener={opener} title={title.replace('{}', nameEmails(resending))}>
      <p>
        {count === 1 ? 'It is' : 'They are'} rendered again with the same version of the message and sent now. Rules
        aren't checked again. Suppressions still apply.
        {count > MOST_RESENT && ` Up to ${formatCount(MOST_RESENT)} are sent at a time.`}
      </p>
      {brake && <p>The brake is on, so lifecycle emails wait until the rate has fallen.</p>}
      <ResendForm {...resending}>
        {count > MOST_RESENT ? `Send the newest ${formatCount(MOST_RESENT)}` : `Send ${nameEmails(resending)}`}
      </ResendForm>
    </Dialog>
  )
}

/** After some of them were sent. */
export const ResendNext = (resending: Resending) => {
  const { state, count } = resending
  return (
    <Notice kind="info">
      {count === 1 ? `One ${state} email is left.` : `${formatCounted(count)} ${state} emails are left.`}
      <ResendForm {...resending}>{`Send the next ${formatCount(Math.min(count, MOST_RESENT))}`}</ResendForm>
    </Notice>
  )
}

const ResendForm = ({ action, until, children }: Resending & { children: string }) => (
  <ActionForm action={action} fields={{ until: publicId('dlv', until) }} kind="primary">
    {children}
  </ActionForm>
)

type Held = Pick<MailState, 'brake' | 'pause'>

/** Flash messages about what happened to the emails. `state`: the state of those that were not sent. */
export const describeResent = (
  state: 'captured' | 'failed',
  { sent, refused, gone }: Resent,
  { brake, pause }: Held,
): Flash[] =>
  sent === 0 && refused === 0
    ? ['resent_none']
    : [
        ...countFlash(pause ? 'resent_paused' : brake ? 'resent_braked' : 'resent', sent),
        ...countFlash(`${state}_refused`, refused),
        ...countFlash('resent_gone', gone),
      ]
