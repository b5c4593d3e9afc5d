/** Webhooks of Mailgun: https://documentation.mailgun.com/docs/mailgun/user-manual/events/webhooks */
import { type Refusal, refuse } from '../core/refusals.ts'
import type { ReportKind } from '../store/delivery-reports.ts'
import {
  fieldsOf,
  type HookRequest,
  type Hooks,
  isSame,
  readJson,
  reasonOf,
  REPEATED_AGE_MS,
  verifyAge,
} from './hook.ts'

/** The signature is about a token, and not about the body, so a token counts for one body only. */
const bodies = new Map<string, string>()
const MOST_TOKENS = 10_000

function isReplayed(token: string, bytes: Uint8Array): boolean {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('base64')
  const known = bodies.get(token)
  if (known !== undefined) return known !== hash
  bodies.set(token, hash)
  const [oldest] = bodies.keys()
  if (bodies.size > MOST_TOKENS && oldest !== undefined) bodies.delete(oldest)
  return false
}

const REPLAYED = refuse('invalid_signature', {
  hint: 'The `signature.token` of this webhook was already used with another body. Mailgun creates a new token for each webhook.',
})

const PARTS = ['timestamp', 'token', 'signature']
const signatureOf = (bytes: Uint8Array) => fieldsOf(fieldsOf(readJson(bytes)).signature)

function verify({ bytes, secret, at }: HookRequest): Refusal | null {
  const { timestamp, token, signature } = signatureOf(bytes)
  const [seconds, nonce] = [String(timestamp), String(token)]
  const proof = new Bun.CryptoHasher('sha256', secret).update(`${seconds}${nonce}`).digest('hex')
  if (!isSame(String(signature), proof) || !/^\d{1,12}$/.test(seconds)) return refuse('invalid_signature')
  const expired = verifyAge(Number(seconds) * 1_000, at, REPEATED_AGE_MS)
  if (expired) return expired
  return isReplayed(nonce, bytes) ? REPLAYED : null
}

/** Refused before it was sent, because an earlier email bounced or was reported. */
const SUPPRESSED: readonly unknown[] = ['suppress-bounce', 'suppress-complaint', 'suppress-unsubscribe']
const BLOCKED: readonly unknown[] = ['espblock', 'greylisted', 'old']

function kindOf({ event, severity, reason }: Record<string, unknown>): ReportKind | undefined {
  if (event === 'delivered') return 'delivered'
  if (event === 'complained') return 'complained'
  if (event !== 'failed') return undefined
  if (severity === 'temporary') return 'delayed'
  if (SUPPRESSED.includes(reason)) return 'bounced'
  return BLOCKED.includes(reason) ? 'blocked' : 'bounced'
}

export const MAILGUN_HOOKS: Hooks = {
  wrong: '`signature.signature` does not match.',
  signed:
    'In the body, `signature.signature` is the HMAC-SHA256 of `signature.timestamp` followed by `signature.token`, in lowercase hexadecimal. The key is the HTTP webhook signing key from your Mailgun account, which you save under Sender, Mail server.',
  listMissing({ bytes }) {
    const sent = signatureOf(bytes)
    return PARTS.flatMap((name) => (sent[name] === undefined ? `\`signature.${name}\`` : []))
  },
  verify,
  read(body) {
    const data = fieldsOf(fieldsOf(body)['event-data'])
    const kind = kindOf(data)
    const { delivery = fieldsOf(fieldsOf(data.message).headers)['message-id'] } = fieldsOf(data['user-variables'])
    if (kind === undefined || typeof delivery !== 'string') return []
    const { message, description } = fieldsOf(data['delivery-status'])
    return [{ delivery, kind, reason: reasonOf(kind === 'complained' ? [] : [message, description], kind) }]
  },
}
