/** The general part of the API reference, generated from the limits and errors in the code. */
import { ERROR_CODES } from '../http/answer-schemas.ts'
import { ABUSE_LIMITS } from '../http/abuse-limits.ts'
import { type Limit, RATE_LIMITS } from '../accounts/limits.ts'
import { REFUSALS } from '../core/refusals.ts'
import { BATCH_BYTES, BODY_BYTES } from '../http/request-input.ts'
import { row, table } from '../docs/markdown.ts'

/** Markdown with second-level headings. */
export const guide = (): string => [errors(), limits(), AGAIN, VERSIONS].join('\n\n')

const errors = (): string =>
  [
    '## Errors',
    'All errors have the same format: `error` is a stable code for programs, `message` a sentence for people, `field` the invalid field (with `errors` if there are several), and `requestId` identifies the request in the log. Errors never repeat what you sent.',
    EXAMPLE,
    'A request is checked in this order: key (401), type and size (415, 413), fields (400), app (404), limit (429), person (404), plan (403). Requests that fail before the limit do not count towards it.',
    "Requests that can't be read as HTTP get an empty 400, 413, 431 or 505 without a `requestId`: see [Requests that can't be read](/docs/http).",
    table(
      ['Status', 'Code', 'What it says'],
      ERROR_CODES.map((code) => row([String(REFUSALS[code].status), `\`${code}\``, REFUSALS[code].message])),
    ),
  ].join('\n\n')

const EXAMPLE = `\`\`\`json
{
  "ok": false,
  "error": "invalid_field",
  "message": "Send the person's email address.",
  "field": "email",
  "requestId": "req_..."
}
\`\`\``

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
    'The operator of an installation can change or lift the hourly limits of keys. Limits are exact: they hold in every window, whenever it starts. `RateLimit-Remaining` is the number of calls left.',
    'A 429 says which limit is used up (`limitName`), what it belongs to (`scope` is `key`, with `keyId`, or `ip`), its size (`limit`) and when to retry: in seconds (`retryAfter`, also the `Retry-After` header) and as a time (`retryAt`).',
    'Refused requests outside the hourly limits have their own limit per key. While it is used up, valid requests with that key get 429 too. Requests without a valid key count towards their address, and only they get 429 when its limit is used up. These 429s have no `RateLimit-` headers, which belong to the hourly limits. Lifted limits have no headers either. An IPv6 network of 64 bits (/64) counts as one address.',
    `A body has up to ${inKb(BODY_BYTES)}, a batch up to ${inKb(BATCH_BYTES)}, and \`properties\` stay under 2 KB.`,
  ].join('\n\n')

const limitRow = (what: string, { max, windowMs }: Limit): string => {
  const minutes = windowMs / 60_000
  const window = minutes === 60 ? 'hour' : minutes === 1 ? 'minute' : `${minutes} minutes`
  return row([what, max.toLocaleString('en'), window])
}

const inKb = (bytes: number): string => `${bytes / 1024} KB`

const AGAIN = `## Sending again

After a timeout, you can't know whether a write was saved. Send POST and PATCH with an \`Idempotency-Key\`, a new random value for each write. It belongs to the API key that sends it: the same value with another key is another write. For 24 hours, the same key with the same body returns the first answer, with \`Idempotency-Replayed: true\`, writes nothing and doesn't count towards limits. Bodies are compared as parsed JSON, so whitespace and the order of keys don't matter. Another body with the same key gets 422; while the first request is still running, the answer is 409 with \`Retry-After\`. Refused requests aren't stored: fix the request and send it again with the same key.`

const VERSIONS = `## Versions

The version is in the path. Within v1, fields are only added. Removals are announced with \`Deprecation\` and \`Sunset\` headers at least 12 months before.`
