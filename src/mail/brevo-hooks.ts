/** Webhooks of Brevo, which doesn't sign them: https://developers.brevo.com/docs/transactional-webhooks */
import type { ReportKind } from '../store/delivery-reports.ts'
import { fieldsOf, type Hooks, OF_URL, reasonOf } from './hook.ts'

const KINDS = new Map<unknown, ReportKind>([
  ['delivered', 'delivered'],
  ['deferred', 'delayed'],
  ['soft_bounce', 'softBounced'],
  ['hard_bounce', 'bounced'],
  ['invalid_email', 'bounced'],
  // Brevo sends nothing to the address any more
  ['blocked', 'bounced'],
  ['error', 'blocked'],
  ['spam', 'complained'],
])

export const BREVO_HOOKS: Hooks = {
  ...OF_URL,
  read(body) {
    const { event, reason, 'X-Mailin-custom': custom, 'message-id': messageId } = fieldsOf(body)
    const [, named] = /^delivery:(.+)$/.exec(String(custom)) ?? []
    const [kind, delivery] = [KINDS.get(event), named ?? messageId]
    return kind === undefined || typeof delivery !== 'string'
      ? []
      : [{ delivery, kind, reason: reasonOf([reason], kind) }]
  },
}
