/** @jsxImportSource preact */
import {
  type DeliveryRow,
  type DeliveryState,
  findUnconfirmed,
  isResent,
  mayHaveArrivedTwice,
  mayResend,
} from '../../deliveries/delivery-lists.ts'
import { hasRole } from '../../accounts/members.ts'
import type { DeliveryProps } from './delivery-page.tsx'
import { deliveryPath } from './delivery-words.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'

const WORDS: Partial<Record<DeliveryState, string>> = {
  skipped: 'Send it anyway',
  failed: 'Try again',
  unknown: 'Send it again',
  deferred: 'Send it now',
  kept: 'Send it now',
}

/** For editors. The person may have got it already, or not want it: whoever sends it on shall know what is not asked. */
export function ResendForm(props: DeliveryProps) {
  const { viewer, mailState, shown, mail } = props
  const { delivery, contact } = shown.work
  if (!mayResend(delivery, mailState) || !hasRole(viewer.member.role, 'editor')) return null
  if (shown.unwanted !== null) return <p class="hint">{UNWANTED[shown.unwanted]}</p>
  if (!('html' in mail)) return <p class="hint">{UNWRITABLE}</p>
  const verb = WORDS[delivery.state] ?? 'Send it'
  return (
    <Dialog id="resend" opener={verb} title={`Send this mail to ${contact.email}?`}>
      <Consequences {...props} />
      <form method="post" action={`${deliveryPath(viewer.app.publicId, delivery.id)}/resend`}>
        <Button kind="primary">{verb}</Button>
      </form>
    </Dialog>
  )
}

/** Nobody's wish is overruled, so nothing is offered that would not go. */
const UNWANTED = {
  unsubscribed: 'It cannot be sent on: they have unsubscribed.',
  bounced: 'It cannot be sent on: a mail to this address bounced.',
  complained: 'It cannot be sent on: they complained about a mail.',
}

const UNWRITABLE = 'It cannot be sent on: as things are it cannot be written, for the reason below.'

const Consequences = ({ mail, shown: { work } }: DeliveryProps) => {
  const { delivery, message } = work
  return (
    <>
      <p>
        The rules of the message, its hours and the limits per person are not asked again. It still goes to nobody who
        has unsubscribed, complained, or cannot be reached.
      </p>
      <Doubt delivery={delivery} />
      {isResent(message.content) && <p>{delivery.resent ? WAS_RESENT : MAY_BE_RESENT}</p>}
      {'keptAt' in mail && (
        <p>{`It is written anew, in the words of version ${delivery.version}, and leaves the outbox when it goes out.`}</p>
      )}
    </>
  )
}

const Doubt = ({ delivery }: { delivery: DeliveryRow }) => {
  if (mayHaveArrivedTwice(delivery)) return <p>They may have got it twice already.</p>
  const isOpen = delivery.state === 'unknown' || findUnconfirmed(delivery) !== null
  return isOpen ? <p>They may have got it already.</p> : null
}

const MAY_BE_RESENT =
  'If nobody knows then whether it arrived, as when the service is killed in the middle, it is sent once more by itself: this message asks for that.'
const WAS_RESENT =
  'It was sent once more by itself already, because nobody knew whether it had arrived. That is not done a second time.'
