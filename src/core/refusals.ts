import { formatLimit } from './count.ts'
import { MAX_CUSTOM_FIELDS, MAX_STORED_TAGS } from './field-limits.ts'
import { describeStillSending, type StoppedEmails } from './hand-overs.ts'

/** Every refusal: HTTP status and message. The codes are the `error` of the API and MCP. */
export const REFUSALS = {
  invalid_json: {
    status: 400,
    message: 'The body is not one JSON object in UTF-8. Send one JSON object, without a byte order mark.',
  },
  invalid_field: { status: 400, message: 'A field is missing or invalid.' },
  invalid_api_key: { status: 401, message: 'Invalid API key' },
  insufficient_scope: {
    status: 403,
    message:
      'This key has the scope `ingest`, which can only add and update. Use a key with scope `standard` or `manage`.',
  },
  invalid_signature: { status: 401, message: 'Invalid signature' },
  signature_expired: {
    status: 401,
    message: 'This bounce report was signed more than 5 minutes ago. Sign it again with the current time.',
  },
  origin_not_allowed: {
    status: 403,
    message:
      "Pages on this host can't report to this site. Add the host in Settings, or remove all hosts to allow any.",
  },
  plan_limit_reached: {
    status: 403,
    isAfterLimit: true,
    message:
      "You reached the plan's limit on new people for this calendar month (UTC). Raise the limit, or send this again next month.",
  },
  not_found: { status: 404, message: 'There is nothing at this path. See the API reference at /docs/api.' },
  app_not_found: {
    status: 404,
    message: "This key's account has no app with this ID. Copy the app ID from the Activation page.",
  },
  site_not_found: {
    status: 404,
    message: 'There is no site with this ID. Copy the script tag from the Activation page.',
  },
  contact_not_found: {
    status: 404,
    isAfterLimit: true,
    message: 'This app has no person with this email. Send `createContact: true` with the event to add the person.',
  },
  message_not_found: { status: 404, message: 'This app has no message with this ID.' },
  message_name_taken: { status: 409, message: 'This app already has a message with this name. Choose another name.' },
  message_in_use: {
    status: 409,
    message: "A message with deliveries can't be deleted. Pause it instead.",
  },
  message_changed: {
    status: 409,
    message: 'Someone else changed this message, so nothing was done. Read the current version, then try again.',
  },
  message_not_live: {
    status: 409,
    message: 'This message is not live, so it sends nothing. Make it live first.',
  },
  settings_changed: {
    status: 409,
    message: 'Someone else changed these settings, so nothing was saved. Read the current ones, then try again.',
  },
  delivery_not_found: { status: 404, message: 'This app has no delivery with this ID.' },
  delivery_in_use: {
    status: 409,
    message: 'This email is being sent, or its state is final.',
  },
  message_on_its_way: {
    status: 409,
    message:
      'Another email from this message was already sent to this person or is being sent, so this one was not sent.',
  },
  event_deleted: {
    status: 409,
    message: "This email can't be sent: the event that triggered it was deleted because of its age.",
  },
  no_mail_server: {
    status: 409,
    message:
      'No mail server is set up, so this email would only be captured again. Set one up under Sender, Mail server.',
  },
  mail_server_unreadable: {
    status: 409,
    message:
      "The mail server's address is invalid, so this email can't be sent. Set it again under Sender, Mail server.",
  },
  method_not_allowed: {
    status: 405,
    message: "This path doesn't support this method. Use a method from the Allow header.",
  },
  not_acceptable: {
    status: 406,
    message: "This request doesn't accept JSON. Send the header Accept: application/json.",
  },
  idempotency_in_progress: {
    status: 409,
    message:
      'The first request with this Idempotency-Key is still running. Wait for the time in Retry-After, then send this again.',
  },
  idempotency_mismatch: {
    status: 422,
    message: 'This Idempotency-Key was used for another request. Send a new Idempotency-Key with each new request.',
  },
  too_large: { status: 413, message: 'The body is too large. Send at most 64 KB, or 256 KB in a batch.' },
  unsupported_media_type: {
    status: 415,
    message: 'The Content-Type is not JSON. Send one JSON object, with the header Content-Type: application/json.',
  },
  rate_limited: {
    status: 429,
    message: 'You reached a limit. Wait for the time in Retry-After, then send this again.',
  },
  /** After merging; one request has limits of its own. */
  tags_full: {
    status: 400,
    isAfterLimit: true,
    error: 'invalid_field',
    field: 'tags',
    message: `This person would have more than ${MAX_STORED_TAGS} tags. Remove some first, with PATCH and \`removeTags\`.`,
  },
  fields_full: {
    status: 400,
    isAfterLimit: true,
    error: 'invalid_field',
    field: 'fields',
    message: `This person would have more than ${MAX_CUSTOM_FIELDS} keys or 16 KB in \`fields\`. To remove keys, send them as null.`,
  },
  internal_error: {
    status: 500,
    message: "Something failed in Eventpost. Report it with its request ID, which is also in the server's log.",
  },
  unavailable: {
    status: 503,
    message:
      "Eventpost can't save right now. Nothing was saved. Wait for the time in Retry-After, then send this again.",
  },
  commit_unconfirmed: {
    status: 503,
    error: 'unavailable',
    message:
      "Eventpost couldn't confirm in time that this was saved. Send it again, with the same Idempotency-Key if it had one.",
  },
  already_set_up: {
    status: 409,
    message: 'This installation is already set up. Sign in, or use `eventpost account create`.',
  },
  already_done: { status: 409, message: 'This was already done. Nothing changed.' },
  wrong_password: { status: 400, message: 'The email or the password is wrong.' },
  too_many_tries: { status: 429, message: 'Too many failed attempts. Wait up to a minute, then try again.' },
  wrong_code: { status: 400, message: 'This code is wrong or was already used.' },
  next_code_needed: {
    status: 400,
    message:
      'This code is correct. After many wrong codes, you need two correct codes in a row. Enter the next code from your authenticator app.',
  },
  sign_in_expired: { status: 400, message: 'This sign-in expired. Enter your password again.' },
  last_owner: {
    status: 409,
    message: 'An account needs an owner, and this is the only one. Make another member an owner first.',
  },
  email_taken: {
    status: 409,
    message: 'A member of this account already has this email. Use another email.',
  },
  two_step_required: {
    status: 409,
    message: 'One of your accounts requires two-step sign-in, so it stays on.',
  },
  reset_elsewhere: {
    status: 409,
    message: 'On a server with several accounts, only the operator can create a password link.',
  },
} as const satisfies Record<string, Row>

/**
 * `error`: the public code where it differs. `field`: the field it names. `isAfterLimit`: comes after the limit was charged.
 */
type Row = { status: number; message: string; error?: string; field?: string; isAfterLimit?: true }

/** `app`: as sent. Never echoed. */
export const refuseApp = (app: string): Refusal =>
  app.startsWith('site_')
    ? refuse('app_not_found', {
        message: 'This is a site ID. Send the app ID, which starts with `app_`. The Activation page shows both.',
      })
    : refuse('app_not_found')

export type RefusalCode = keyof typeof REFUSALS

/** `field` is the top-level name (`tags`, never `tags[0]`); messages never echo input. */
export type FieldError = { field: string; code: string; message: string }

export type Warning = FieldError

export type Refusal = {
  refusal: RefusalCode
  message?: string
  /** more than the message, which is fixed */
  hint?: string
  field?: string
  errors?: FieldError[]
  limited?: Limited
}

/** `retryAfter`: seconds; `retryAt`: the same as a time. */
export type Limited = {
  scope: 'key' | 'ip' | 'person' | 'site'
  limit: number
  retryAfter: number
  limitName?: LimitName | ScriptLimitName
  keyId?: string
  retryAt?: string
}

export const LIMIT_NAMES = {
  events_per_hour: 'events per hour',
  contact_adds_per_hour: 'calls to add people per hour',
  contact_updates_per_hour: 'calls to change people per hour',
  contact_adds_per_ip: 'calls to add people per 10 minutes in this app',
  mcp_calls_per_minute: 'MCP calls per minute',
  costly_calls_per_minute: 'calls of this kind per minute',
  refused_requests_per_minute: 'refused requests per minute',
  requests_without_key_per_minute: 'requests per minute without a valid API key',
} as const

export type LimitName = keyof typeof LIMIT_NAMES

export type ScriptLimitName =
  'person_items_per_hour' | 'site_items_per_hour' | 'reports_per_minute' | 'wrong_signatures_per_minute'

export const retryTime = (at: number, retryAfter: number): string =>
  new Date((Math.ceil(at / 1_000) + retryAfter) * 1_000).toISOString()

type LimitReached = {
  name: LimitName
  key: { id: string; name: string } | null
  address?: string
  limit: number
  retryAfter: number
  at: number
}

export function refuseLimited({ name, key, address, limit, retryAfter, at }: LimitReached): Refusal {
  const retryAt = retryTime(at, retryAfter)
  const owner =
    key !== null
      ? `The key "${visibleName(key.name)}" (${key.id})`
      : name === 'contact_adds_per_ip'
        ? 'The address in `ip`'
        : `The address ${address}`
  const minutes = Math.ceil(retryAfter / 60)
  const wait = retryAfter === 1 ? '1 second' : retryAfter < 120 ? `${retryAfter} seconds` : `${minutes} minutes`
  const message = `${owner} has reached its limit of ${formatLimit(limit)} ${LIMIT_NAMES[name]}. Send this again in ${wait}, at ${retryAt.slice(11, 19)} UTC.`
  const whose = key === null ? { scope: 'ip' as const } : { scope: 'key' as const, keyId: key.id }
  return refuse('rate_limited', { message, limited: { ...whose, limitName: name, limit, retryAfter, retryAt } })
}

/** A name may hide or reorder text around it. */
export const visibleName = (name: string): string => name.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')

export const refuse = (refusal: RefusalCode, more: Omit<Refusal, 'refusal'> = {}): Refusal => ({ refusal, ...more })

export const isRefusal = <T extends object>(value: T): value is Extract<T, { refusal: RefusalCode }> =>
  'refusal' in value

const rowOf = (refusal: RefusalCode): Row => REFUSALS[refusal]

export const errorCode = (refusal: RefusalCode): string => rowOf(refusal).error ?? refusal

/** Counted as abuse: the caller's fault, and no other limit bounds it. */
export function countsAsAbuse(refusal: RefusalCode): boolean {
  const { status, isAfterLimit = false } = rowOf(refusal)
  return status < 500 && status !== 429 && !isAfterLimit
}

export const refusedField = ({ refusal, field }: Refusal): string | undefined => field ?? rowOf(refusal).field

export function refuseFields(errors: FieldError[]): Refusal {
  const [first] = errors
  if (!first) throw new Error('refuseFields needs at least one error')
  return errors.length === 1
    ? refuse('invalid_field', { field: first.field, message: first.message })
    : refuse('invalid_field', { field: first.field, message: first.message, errors })
}

export const warnOfSending = (field: string, { stillSending }: StoppedEmails): Warning[] =>
  stillSending === 0 ? [] : [{ field, code: 'still_sending', message: describeStillSending(stillSending) }]

export const withWarnings = <T extends object>(body: T, warnings: Warning[]): T | (T & { warnings: Warning[] }) =>
  warnings.length === 0 ? body : { ...body, warnings }

export function refusalBody(refused: Refusal) {
  const { refusal, message, hint, errors, limited } = refused
  const field = refusedField(refused)
  return {
    ok: false as const,
    error: errorCode(refusal),
    message: message ?? REFUSALS[refusal].message,
    ...(hint === undefined ? {} : { hint }),
    ...(field === undefined ? {} : { field }),
    ...(errors === undefined ? {} : { errors }),
    ...limited,
  }
}
