/**
 * Webhooks of Resend, signed by Svix: https://resend.com/docs/webhooks/event-types and
 * https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
import { type Refusal, refuse } from '../core/refusals.ts'
import type { ReportKind } from '../store/delivery-reports.ts'
import {
  fieldsOf,
  type HookRequest,
  type Hooks,
  isSame,
  kindOfBounce,
  listHeaders,
  reasonOf,
  verifyAge,
} from './hook.ts'

const PREFIX = 'whsec_'

function verify({ bytes, header, secret, at }: HookRequest): Refusal | null {
  const [id, seconds] = [header('svix-id'), header('svix-timestamp')]
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const proof = new Bun.CryptoHasher('sha256', key).update(`${id}.${seconds}.`).update(bytes).digest('base64')
  // several while the secret changes
  const isSigned = header('svix-signature')
    .split(' ')
    .some((one) => isSame(one, `v1,${proof}`))
  if (!isSigned || key.length === 0 || !/^\d{1,12}$/.test(seconds)) return refuse('invalid_signature')
  return verifyAge(Number(seconds) * 1_000, at)
}

const HEADERS = ['svix-id', 'svix-timestamp', 'svix-signature']

const KINDS = new Map<unknown, ReportKind>([
  ['email.delivered', 'delivered'],
  ['email.delivery_delayed', 'delayed'],
  ['email.complained', 'complained'],
  ['email.suppressed', 'bounced'],
  ['email.failed', 'blocked'],
])

/** An object, or a list of names and values. */
const findTag = (tags: unknown, name: string): unknown =>
  Array.isArray(tags) ? tags.map(fieldsOf).find((tag) => tag.name === name)?.value : fieldsOf(tags)[name]

export const RESEND_HOOKS: Hooks = {
  wrong: '`svix-signature` does not match.',
  signed:
    '`svix-signature` is `v1,` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in Base64: `svix-id`, `svix-timestamp` and the body as it was sent. The key is the signing secret of this webhook (whsec_...), which you save under Sender, Mail server.',
  listMissing: ({ header }) => listHeaders(HEADERS, header),
  verify,
  read(body) {
    const { type, data } = fieldsOf(body)
    const { tags, bounce, failed } = fieldsOf(data)
    const [delivery, found] = [findTag(tags, 'delivery'), fieldsOf(bounce)]
    // https://resend.com/docs/dashboard/emails/email-bounces
    const kind = type === 'email.bounced' ? kindOfBounce(found.type, found.subType) : KINDS.get(type)
    if (kind === undefined || typeof delivery !== 'string') return []
    return [{ delivery, kind, reason: reasonOf([found.message, fieldsOf(failed).reason], kind) }]
  },
}
