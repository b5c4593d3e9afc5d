/**
 * Webhooks of SendGrid: https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event and
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 */
import { createPublicKey, verify as verifySignature } from 'node:crypto'
import { type Refusal, refuse } from '../core/refusals.ts'
import type { ReportKind } from '../store/delivery-reports.ts'
import { fieldsOf, type HookRequest, type Hooks, listHeaders, reasonOf, REPEATED_AGE_MS, verifyAge } from './hook.ts'

const TIME = 'x-twilio-email-event-webhook-timestamp'
const SIGNATURE = 'x-twilio-email-event-webhook-signature'

/** ECDSA over the time and the body. The secret is a public key. */
function verify({ bytes, header, secret, at }: HookRequest): Refusal | null {
  const seconds = header(TIME)
  const signature = Buffer.from(header(SIGNATURE), 'base64')
  const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
  const isSigned = verifySignature('sha256', Buffer.concat([Buffer.from(seconds), bytes]), key, signature)
  if (!isSigned || !/^\d{1,12}$/.test(seconds)) return refuse('invalid_signature')
  return verifyAge(Number(seconds) * 1_000, at, REPEATED_AGE_MS)
}

const KINDS = new Map<unknown, ReportKind>([
  ['delivered', 'delivered'],
  ['deferred', 'delayed'],
  ['spamreport', 'complained'],
])

/** Not sent, because an earlier email bounced or was reported. */
const SUPPRESSED: readonly unknown[] = ['Bounced Address', 'Spam Reporting Address', 'Invalid']

function kindOf({ event, type, reason }: Record<string, unknown>): ReportKind | undefined {
  if (event === 'bounce') return type === 'blocked' ? 'blocked' : 'bounced'
  if (event === 'dropped') return SUPPRESSED.includes(reason) ? 'bounced' : 'blocked'
  return KINDS.get(event)
}

/** One request has many events. */
export const SENDGRID_HOOKS: Hooks = {
  wrong: `\`${SIGNATURE}\` does not match.`,
  signed:
    'The signature is ECDSA with SHA-256, in Base64, over the timestamp followed by the body as it was sent. It is checked with the verification key of the event webhook, which you save under Sender, Mail server.',
  listMissing: ({ header }) => listHeaders([TIME, SIGNATURE], header),
  verify,
  read: (body) =>
    (Array.isArray(body) ? body : []).flatMap((one) => {
      const event = fieldsOf(one)
      const [kind, delivery] = [kindOf(event), event.delivery ?? event['smtp-id']]
      return kind === undefined || typeof delivery !== 'string'
        ? []
        : [{ delivery, kind, reason: reasonOf(kind === 'delivered' ? [] : [event.reason, event.response], kind) }]
    }),
}
