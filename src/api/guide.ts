/** The general part of the API reference, generated from the limits and errors in the code. */
import { formatLimit } from '../core/count.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { ERROR_CODES } from '../http/answer-schemas.ts'
import { ABUSE_LIMITS } from '../http/abuse-limits.ts'
import { COSTLY_CALL_LIMIT } from '../accounts/costly-calls.ts'
import { type Limit, RATE_LIMITS } from '../accounts/limits.ts'
import { REFUSALS } from '../core/refusals.ts'
import { BATCH_BYTES, BODY_BYTES } from '../http/request-input.ts'
import { CHECK_ORDER } from '../docs/api-pages.ts'
import { row, table } from '../docs/markdown.ts'
import retries from '../docs/retries.md' with { type: 'text' }

/** Markdown with second-level headings. */
export const guide = (): string => [errors(), limits(), AGAIN, VERSIONS].join('\n\n')

const errors = (): string =>
  [
    '## Errors',
    'All errors have the same format: `error` is a stable code for programs, `message` an explanation for people, `field` the invalid field (with `errors` if there are several; inside a message, its path), and `requestId` identifies the request in the log. Errors about people and events never repeat the values that you sent.',
    EXAMPLE,
    CHECK_ORDER,
    "Requests that can't be read as HTTP get an empty 400, 413, 431 or 505 without a `requestId`: see [Requests that can't be read](/docs/http).",
    table(
      ['Status', 'Code', 'Message'],
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
      ['What', 'How many'],
      [
        limitRow('POST /events, each event in a batch, and POST /send, per key', RATE_LIMITS.events),
        limitRow('POST /contacts, per key', RATE_LIMITS.contactAdds),
        limitRow('POST /contacts with `ip`, per app and visitor', RATE_LIMITS.addsPerVisitor),
        limitRow('PATCH /contacts, per key', RATE_LIMITS.contactUpdates),
        limitRow('Simulations per key, and test emails per key', COSTLY_CALL_LIMIT),
        limitRow('Refused requests, per key', ABUSE_LIMITS.key),
        limitRow('Requests without a valid key, per IP address', ABUSE_LIMITS.address),
      ],
    ),
    'The operator of an installation can change or lift the hourly limits for keys. Time windows slide: an hourly limit applies to any 60 minutes, not to clock hours. `RateLimit-Remaining` is the number of calls left.',
    'A 429 names the limit (`limitName`), what it applies to (`scope` is `key`, with `keyId`, or `ip`; for reports of page views, also `person` or `site`), its size (`limit`) and when to retry: in seconds (`retryAfter`, also the `Retry-After` header) and as a time (`retryAt`).',
    '"Refused requests" are invalid ones, such as those with a missing field or an unknown app. They count towards no other limit. If a key reaches this limit, its valid requests get 429 too. Requests without a valid key count towards the limit for their IP address, and never block a valid key. The `RateLimit-` headers belong to the hourly limits and to `contact_adds_per_ip`: other 429s and lifted limits have none. An IPv6 /64 network counts as one address.',
    `A body can be up to ${inKb(BODY_BYTES)}, a batch up to ${inKb(BATCH_BYTES)}. \`properties\` must be under 2 KB.`,
  ].join('\n\n')

const limitRow = (what: string, { max, windowMs }: Limit): string => {
  const minutes = windowMs / MINUTE_MS
  const window = minutes === 60 ? 'hour' : minutes === 1 ? 'minute' : `${minutes} minutes`
  return row([what, `${formatLimit(max)} in any ${window}`])
}

const inKb = (bytes: number): string => `${bytes / 1024} KB`

/** Links of a page to others lead nowhere in another document. */
const withPaths = (page: string): string => page.replaceAll(/\]\((?=[a-z0-9-]+[#)])/g, '](/docs/')

/** The guide, without its title and summary. */
const AGAIN = `## Retries\n\n${withPaths(retries.split('\n').slice(4).join('\n').trim())}`

const VERSIONS = `## Versions

The version is in the path. Within v1, fields are only added. \`Deprecation\` and \`Sunset\` headers announce removals at least 12 months in advance.`
