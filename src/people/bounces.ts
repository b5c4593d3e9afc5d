import type { Clock } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import { timingSafeEqual } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { EMAIL_PATTERN } from '../core/field-patterns.ts'
import { shortText } from '../core/field-schemas.ts'
import { isPlainText, readAddress } from '../core/field-readers.ts'
import { parseJsonObject } from '../core/json.ts'
import { readPublicId } from '../core/ids.ts'
import { type FieldError, type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import { settleAddress } from './suppressions.ts'

type Dependencies = { store: Store; clock: Clock; mailer: HandOvers }

/** Allows for clock differences and stops replays. */
export const REPORT_AGE_MS = 5 * 60_000
const REASON = { what: 'text', min: 1, max: 200 }
const KINDS = ['bounced', 'complained'] as const

export const BounceReport = Type.Object(
  {
    kind: Type.Union(
      KINDS.map((kind) => Type.Literal(kind)),
      {
        description: 'The mail came back, or the person complained about it.',
      },
    ),
    delivery: Type.Optional(
      Type.String({ description: 'The ID of the delivery (`dlv_...`), or the Message-ID of its mail.' }),
    ),
    email: Type.Optional(
      Type.String({
        description: 'Whom no more mail goes to; needed without `delivery`.',
        pattern: EMAIL_PATTERN,
        examples: ['jane@example.com'],
      }),
    ),
    reason: Type.Optional(shortText(REASON.max, 'What the mail server said.')),
  },
  { title: 'BounceReport', description: 'What became of a mail that went out.' },
)

type Report = { kind: (typeof KINDS)[number]; deliveryId: number | null; email: string | null; reason: string }

/**
 * Suppresses the person and marks the delivery if named. `signature` is `t=SECONDS,v1=HEX`: HMAC-SHA256 of
 * `SECONDS.BODY`. Repeatable. Refusals: invalid_signature, signature_expired, invalid_json, invalid_field,
 * delivery_not_found.
 */
export async function reportBounce(
  deps: Dependencies,
  { app: publicId, bytes, signature }: { app: string; bytes: Uint8Array; signature: string },
): Promise<StoppedEmails | Refusal> {
  const { store, clock, mailer } = deps
  const at = clock.now()
  const app = await store.findAppByPublicId(publicId)
  const secret = app && (await store.mailSettings(app.id)).bounceSecret
  if (!app || !secret) return refuse('invalid_signature')
  const unsigned = checkSignature({ secret, bytes, signature, at })
  if (unsigned) return unsigned
  const body = parseJsonObject(bytes)
  if ('refused' in body) return body.refused
  const report = readReport(body.object)
  if ('errors' in report) return refuseFields(report.errors)
  const { kind, deliveryId, email, reason } = report
  if (deliveryId === null) {
    const outcome = await store.suppress({ appId: app.id, email: email ?? '', reason: kind, at })
    return 'refusal' in outcome ? outcome : settleAddress(deps, app.id, email ?? '')
  }
  // other apps' deliveries and erased people look alike
  const work = await store.findWork(deliveryId)
  if (work?.app.id !== app.id) return refuse('delivery_not_found')
  const outcome = await store.markBounced({ deliveryId, kind, reason, at })
  return 'refusal' in outcome ? outcome : { stillSending: await mailer.waitForReplies({ contactId: work.contact.id }) }
}

type Signed = { secret: string; bytes: Uint8Array; signature: string; at: number }

const TOO_OLD = refuse('signature_expired')
const TOO_NEW = refuse('signature_expired', {
  message: 'The time of this signature is more than 5 minutes ahead. Check the clock that signs, then send it again.',
})

/** Over the raw bytes. The age is reported only to holders of the secret. */
function checkSignature({ secret, bytes, signature, at }: Signed): Refusal | null {
  const [, seconds = '', given = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? []
  const proof = new Bun.CryptoHasher('sha256', secret).update(`${seconds}.`).update(bytes).digest()
  if (given === '' || !timingSafeEqual(proof, Buffer.from(given, 'hex'))) return refuse('invalid_signature')
  const ageMs = at - Number(seconds) * 1_000
  return ageMs > REPORT_AGE_MS ? TOO_OLD : ageMs < -REPORT_AGE_MS ? TOO_NEW : null
}

function readReport({ kind, delivery, email, reason }: Record<string, unknown>): Report | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const known = KINDS.find((one) => one === kind)
  if (!known) errors.push({ field: 'kind', code: 'invalid', message: 'Give bounced or complained.' })
  const deliveryId = typeof delivery === 'string' ? readDelivery(delivery) : null
  if (delivery !== undefined && deliveryId === null) {
    const message = 'Give the ID of a delivery (dlv_...), or the Message-ID of its mail.'
    errors.push({ field: 'delivery', code: 'invalid', message })
  }
  const address = delivery === undefined ? readAddress(email, errors).email : null
  const said = reason !== undefined && isPlainText(reason, 'reason', REASON, errors) ? reason : null
  if (errors.length > 0 || !known) return { errors }
  return { kind: known, deliveryId, email: address, reason: said ?? known }
}

/** A Message-ID starts with the delivery's id. */
const readDelivery = (text: string): number | null => readPublicId('dlv', text.replace(/^<?([^@>]*).*$/s, '$1'))
