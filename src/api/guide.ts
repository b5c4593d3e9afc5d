/** What holds for every call, in words, made from the tables that the service itself runs on. */
import { ERROR_CODES } from '../http/answer-schemas.ts'
import { ABUSE_LIMITS } from '../http/abuse-limits.ts'
import { type Limit, RATE_LIMITS } from '../accounts/limits.ts'
import { REFUSALS } from '../core/refusals.ts'
import { BATCH_BYTES, BODY_BYTES } from '../http/body.ts'
import { row, table } from './markdown.ts'

/** Markdown with second-level headings. */
export const guide = (): string => [errors(), limits(), AGAIN, VERSIONS].join('\n\n')

const errors = (): string =>
  [
    '## Errors',
    'Every refusal has one shape: `error` is a stable code for programs, `message` a sentence for people, `field` the field that is wrong (with `errors` when several are), and `requestId` finds the request in the log. Nothing that was sent is repeated.',
    '```json\n{"ok":false,"error":"invalid_field","message":"Send the person\'s email address.","field":"email","requestId":"req_..."}\n```',
    'A request is checked in this order: key (401), type and size (415, 413), fields (400), app (404), limit (429), person (404), plan (403). What fails before the limit uses none of it up.',
    "Requests that can't be read as HTTP get an empty 400, 413, 431 or 505 without a `requestId`: see [Requests that can't be read](/docs/http).",
    table(
      ['Status', 'Code', 'What it says'],
      ERROR_CODES.map((code) => row([String(REFUSALS[code].status), `\`${code}\``, REFUSALS[code].message])),
    ),
  ].join('\n\n')

const limits = (): string =>
  [
    '## Limits',
    table(
      ['What', 'How many', 'In any'],
      [
        limitRow('POST /events, and each event of a batch, per key', RATE_LIMITS.events),
        limitRow('POST /contacts, per key', RATE_LIMITS.contactAdds),
        limitRow('POST /contacts with `ip`, per app and visitor', RATE_LIMITS.addsPerVisitor),
        limitRow('PATCH /contacts, per key', RATE_LIMITS.contactUpdates),
        limitRow('Requests refused for other reasons, per key', ABUSE_LIMITS.key),
        limitRow('Requests without a valid key, per address', ABUSE_LIMITS.address),
      ],
    ),
    'The operator of an installation can change or lift the hourly limits of keys. Limits are exact: a call counts for exactly one window, so no hour, wherever it begins, holds more. `RateLimit-Remaining` is what is left.',
    'A 429 says which limit is used up (`limitName`), whose it is (`scope` is `key`, with `keyId`, or `ip`), how many it lets through (`limit`) and when it ends: in seconds (`retryAfter`, also the `Retry-After` header) and as a time (`retryAt`).',
    'Refused requests that no hourly limit counts have a limit of their own per key. While it is used up, valid requests with that key get 429 as well. Requests without a valid key count for their address, and only they get 429 when its limit is used up. These 429s have no `RateLimit-` headers, which are about the hourly limits. A lifted limit has no headers either. An IPv6 network of 64 bits (/64) counts as one address.',
    `A body has up to ${inKb(BODY_BYTES)}, a batch up to ${inKb(BATCH_BYTES)}, and \`properties\` stay under 2 KB.`,
  ].join('\n\n')

const limitRow = (what: string, { max, windowMs }: Limit): string => {
  const minutes = windowMs / 60_000
  const window = minutes === 60 ? 'hour' : minutes === 1 ? 'minute' : `${minutes} minutes`
  return row([what, max.toLocaleString('en'), window])
}

const inKb = (bytes: number): string => `${bytes / 1024} KB`

const AGAIN = `## Sending again

After a timeout nobody knows whether a write was saved. Send POST and PATCH with an \`Idempotency-Key\`, a new random value for each write: the same key with the same body answers as the first time for 24 hours, with \`Idempotency-Replayed: true\`, writes nothing and uses up no limit. Bodies are compared as parsed JSON, so whitespace and the order of keys don't matter. Another body with the same key gets 422; while the first request is still running, the answer is 409 with \`Retry-After\`. A refused request is not kept, so mend it and send it again with the same key.`

const VERSIONS = `## Versions

The version is in the path. Within v1 fields are only added; what is to go away is announced with \`Deprecation\` and \`Sunset\` headers at least 12 months before.`
