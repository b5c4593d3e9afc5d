import { type Clock, MINUTE_MS } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { AppRow } from '../accounts/access.ts'
import type { DeliveryRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { timingSafeEqual } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { readEmail } from '../core/email.ts'
import { EMAIL, emailRule, knownFields, shortText } from '../core/field-schemas.ts'
import { createReader, type Fault, faultOf, type Rules, warnOfUnknown } from '../core/inputs.ts'
import { parseJsonObject } from '../core/json.ts'
import { readPublicId } from '../core/ids.ts'
import { type FieldError, type Refusal, refuse, refuseFields, type Warning } from '../core/refusals.ts'
import { settleAddress } from './suppressions.ts'

type Dependencies = { store: Store; clock: Clock; mailer: HandOvers }

/** Allows for clock differences and stops replays. */
export const REPORT_AGE_MS = 5 * MINUTE_MS
const MAX_REASON_CHARACTERS = 200
const KINDS = ['bounced', 'complained'] as const

const DELIVERY = Type.String({
  description: 'The ID of the delivery (`dlv_...`), or the Message-ID of its email.',
  say: 'Enter the ID of a delivery (dlv_...), or the Message-ID of its email.',
})

/** POST /hooks/bounces/{app}. */
export const BounceReport = Type.Object(
  {
    kind: Type.Union(
      KINDS.map((kind) => Type.Literal(kind)),
      {
        description: 'Whether the email bounced or the person reported it as spam.',
        say: { invalid: 'Use bounced or complained.' },
      },
    ),
    delivery: Type.Optional(DELIVERY),
    email: Type.Optional({
      ...EMAIL,
      description:
        "The person's email address. Required without `delivery`. If you send both, this must be the recipient.",
    }),
    reason: Type.Optional(shortText(MAX_REASON_CHARACTERS, 'text', "The mail server's reply.")),
  },
  { title: 'BounceReport', description: 'A bounce or a complaint.' },
)

const REPORT_FIELDS = knownFields(BounceReport)

type Report = { kind: (typeof KINDS)[number]; deliveryId: number | null; email: string | null; reason: string }

/**
 * Suppresses the person and marks the delivery, the newest if none is named. `signature` is `t=SECONDS,v1=HEX`: HMAC-SHA256 of
 * `SECONDS.BODY`. Repeatable. Refusals: invalid_signature, signature_expired, invalid_json, invalid_field,
 * delivery_not_found.
 */
export async function reportBounce(
  deps: Dependencies,
  { app, bytes, signature }: { app: AppRow | null; bytes: Uint8Array; signature: string },
): Promise<(StoppedEmails & { warnings: Warning[] }) | Refusal> {
  const { store, clock, mailer } = deps
  const at = clock.now()
  const secret = app && (await store.mailSettings(app.id)).bounceSecret
  const unsigned = checkSignature({ secret, bytes, signature, at })
  if (unsigned || !app) return unsigned ?? WRONG
  const body = parseJsonObject(bytes)
  if ('refused' in body) return body.refused
  const report = readReport(body.object, null)
  if ('errors' in report) return refuseFields(report.errors)
  const { kind, deliveryId, email, reason } = report.input
  const warnings = warnOfUnknown(body.object, REPORT_FIELDS)
  if (deliveryId === null) {
    const outcome = await store.reportAddress({ appId: app.id, email: email ?? '', kind, reason, at })
    if ('refusal' in outcome) return outcome
    if (!outcome.wasSent) warnings.push(NO_EMAIL_SENT)
    return { ...(await settleAddress(deps, app.id, email ?? '')), warnings }
  }
  // other apps' deliveries and erased people look alike
  const work = await store.findWork(deliveryId)
  if (work?.app.id !== app.id) return refuse('delivery_not_found')
  if (email !== null && email !== work.contact.email) return refuseFields([NOT_RECIPIENT])
  if (!wasSent(work.delivery)) return refuseFields([NOT_SENT])
  const reports = [{ deliveryId, kind, reason }]
  const outcome = await store.reportDeliveries({ appId: app.id, provider: null, at, reports })
  if ('refusal' in outcome) return outcome
  return { stillSending: await mailer.waitForReplies({ contactId: work.contact.id }), warnings }
}

const wasSent = ({ handedAt, state }: Pick<DeliveryRow, 'handedAt' | 'state'>): boolean =>
  handedAt !== null && state !== 'kept'

const NO_EMAIL_SENT: Warning = {
  field: 'email',
  code: 'no_email_sent',
  message:
    'This app has no record of an email to this address, for example because the person was erased. The address is suppressed, but the report does not count towards the bounce and complaint rates. If you did not erase the person, check the address and the app ID.',
}

const NOT_RECIPIENT: FieldError = {
  field: 'email',
  code: 'not_recipient',
  message: 'This is not the recipient of `delivery`. Correct one of them, or send only one.',
}

const NOT_SENT: FieldError = {
  field: 'delivery',
  code: 'not_sent',
  message: "This delivery's email was not sent. Send the ID of the email that bounced, or `email` instead.",
}

type Signed = { secret: string | null; bytes: Uint8Array; signature: string; at: number }

const TOO_OLD = refuse('signature_expired')
const TOO_NEW = refuse('signature_expired', {
  message:
    "The time of this signature is more than 5 minutes in the future. Check the sender's clock, then sign the report again.",
})

const HOW =
  "HEX is the HMAC-SHA256 of `SECONDS.BODY`, with the body as it is sent, in 64 characters of lowercase hexadecimal. The key is the app's report secret, which an owner creates under Sender, Mail server."

const refuseSigned = (fault: string): Refusal => refuse('invalid_signature', { hint: `${fault} ${HOW}` })

const MISSING = refuseSigned('Send the header `Eventpost-Signature: t=SECONDS,v1=HEX`.')
const MALFORMED = refuseSigned('The header `Eventpost-Signature` is not `t=SECONDS,v1=HEX`.')
/** The same for unknown apps, and for those without a secret. */
const WRONG = refuseSigned('`v1` in the header `Eventpost-Signature` is wrong for this body, app ID and time.')

/** Over the raw bytes. The age is reported only to holders of the secret. */
function checkSignature({ secret, bytes, signature, at }: Signed): Refusal | null {
  if (signature === '') return MISSING
  const [, seconds = '', given = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? []
  if (given === '') return MALFORMED
  if (!secret) return WRONG
  const proof = new Bun.CryptoHasher('sha256', secret).update(`${seconds}.`).update(bytes).digest()
  if (!timingSafeEqual(proof, Buffer.from(given, 'hex'))) return WRONG
  const ageMs = at - Number(seconds) * 1_000
  return ageMs > REPORT_AGE_MS ? TOO_OLD : ageMs < -REPORT_AGE_MS ? TOO_NEW : null
}

const reportRules: Rules = {
  delivery: (text) =>
    typeof text === 'string' && readDelivery(text) === null ? faultOf(DELIVERY, 'invalid', text) : null,
  email: (text, { delivery }) => (text === undefined && delivery === undefined ? NOBODY : emailRule(text)),
}

const NOBODY: Fault = { code: 'missing', message: 'Send `delivery` (the ID or Message-ID of the email) or `email`.' }

function cleanReport({ kind, delivery, email, reason }: Static<typeof BounceReport>): Report | null {
  const deliveryId = delivery === undefined ? null : readDelivery(delivery)
  const address = email === undefined ? null : readEmail(email)
  const isWrong = (delivery !== undefined && deliveryId === null) || (email !== undefined && address === null)
  if (isWrong || (deliveryId === null && address === null)) return null
  return { kind, deliveryId, email: address?.email ?? null, reason: reason ?? kind }
}

const readReport = createReader({ schema: BounceReport, clean: cleanReport, rules: () => reportRules })

/** A Message-ID begins with the delivery's own. */
export const readDelivery = (text: string): number | null => readPublicId('dlv', text.replace(/^<?([^@>]*).*$/s, '$1'))
