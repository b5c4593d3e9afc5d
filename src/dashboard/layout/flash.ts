import { formatCount } from '../../core/count.ts'
import type { StoppedEmails } from '../../core/hand-overs.ts'
import type { AppAccess } from '../../accounts/members.ts'
import type { SuppressionReason } from '../../people/suppressions.ts'
import { cookieHeader, cookieName, readCookie } from '../access/cookies.ts'
import { ROLE_PHRASES } from '../../accounts/members.ts'

type Where = Pick<AppAccess, 'accountName' | 'role'>

/** Messages shown after a redirect. The cookie holds codes and counts only, so no one can inject text. */
const FLASHES = {
  set_up: 'Eventpost is set up.',
  password_set: 'Your new password is set. Your other sessions have ended.',
  password_alone: 'Your new password is set, and two-step sign-in is off. Your other sessions have ended.',
  welcome: 'Your password is set. You are signed in.',
  welcome_joined: ({ accountName, role }: Where) =>
    `Your password is set, and you have joined the account ${accountName} as ${ROLE_PHRASES[role]}.`,
  password_changed: 'Your password was changed, and all your other sessions have ended.',
  summary_on: 'The weekly summary is on. You get it on Mondays.',
  summary_off: 'The weekly summary is off. Alerts are still sent.',
  session_ended: 'The session has ended.',
  sessions_ended: 'All your other sessions have ended.',
  two_step_required: ({ accountName }: Where) =>
    `The account ${accountName} requires two-step sign-in. Set it up to open its pages.`,
  two_step_asked: 'All members now need two-step sign-in. Members without it must set it up before they can continue.',
  two_step_free: 'Two-step sign-in is now optional.',
  member_signed_out: "All of the member's sessions have ended.",
  two_step_off: 'Two-step sign-in is off. You sign in with your password alone.',
  recovery_code_used: 'You used a recovery code. See how many are left under Your profile.',
  key_revoked: 'The key was revoked. Requests with it are refused.',
  secrets_revoked: 'All previous identity secrets were revoked. Signatures made with them are refused.',
  app_made: 'The app was created. This page has its IDs, code and script tag.',
  settings_saved: 'The settings were saved.',
  ports_ignored:
    'Domains are saved without ports. Emails can link to any port on localhost, but not to ports on other domains.',
  account_renamed: 'The account was renamed.',
  account_name_same: 'The account already has this name.',
  role_changed: "The member's role was changed. It applies from the next page they open.",
  member_removed: 'The member was removed. They can no longer open this account.',
  joined: ({ accountName }: Where) =>
    `You have joined the account ${accountName}. Switch accounts with the list at the top.`,
  person_added: 'The person was added.',
  person_saved: 'The person was saved.',
  topics_saved: 'The topics were saved.',
  topic_deleted: 'The topic was deleted.',
  consent_asked: 'The email with the link goes out in a moment.',
  person_erased: 'The person and their data were erased.',
  sent_on: 'The email was queued. Only suppressions are checked before it is sent.',
  sent_on_paused: 'The email was queued. It waits while sending is paused.',
  resent_none: 'These emails were already sent or removed.',
  sending_early: 'The email was queued. If a check stops it, this page says why.',
  email_cancelled: 'The email was cancelled.',
  sender_saved: 'The sender was saved. It applies from the next email.',
  layout_saved: 'The layout was saved. It applies from the next email.',
  texts_saved: 'The texts were saved. They apply to pages now, and to emails from the next email on.',
  layout_reset: 'Emails use the default layout again.',
  server_saved: 'The mail server responded and was saved. Emails now go through it.',
  server_saved_plain: 'The mail server responded and was saved. Emails now go through it, without encryption.',
  webhook_secret_saved: 'The webhook settings were saved. Webhooks with a wrong signature are refused.',
  webhook_topic_saved: 'The topic was saved. Messages from other topics are refused.',
  server_saved_unchecked: 'The mail server was saved without a check. Emails wait if it refuses them.',
  server_removed: 'The mail server was removed.',
  opt_in_saved: 'The double opt-in settings were saved.',
  limits_saved: 'The hours and limits were saved. Emails waiting because of them are checked again.',
  brake_saved: 'The brake settings were saved. They apply from the next email.',
  brake_released: 'The brake was released. Lifecycle emails that waited are checked in a moment.',
  dkim_made: 'The key was created. It signs emails once its DNS record is found.',
  dkim_used: 'The new key signs emails from now on.',
  dkim_discarded: 'The new key was discarded.',
  dkim_removed: 'The key was removed. Eventpost no longer signs emails.',
  address_freed: 'The address was removed from suppressions. It can receive emails again.',
  address_unsubscribed: 'The address can receive transactional emails again. The person is still unsubscribed.',
  message_saved: 'The message was saved.',
  message_changed_live: 'The message was saved. New triggers use this version; waiting emails keep theirs.',
  message_moved: 'The message was saved. Waiting emails use this version too, and keep their due times.',
  message_live: 'The message is live. It now sends emails.',
  message_live_captured: 'The message is live. Its emails are captured until a mail server is set up.',
  message_paused: 'The message is paused. It sends no emails until it is live again.',
  message_draft: 'The message is a draft again. It sends no emails.',
  still_sending: 'Emails that were already with the mail server may still arrive.',
  message_copied: 'This is a copy, saved as a draft. While both are live, people can get both emails.',
  message_deleted: 'The message was deleted, with all its versions.',
  test_sent: "The test event was recorded. It is this app's newest event.",
} as const

const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? one : `${formatCount(count)} ${many}`

const describeAssumed = (count: number, reason: SuppressionReason): string =>
  `${countOf(count, '1 line has no known reason, so it is', 'lines have no known reason, so they are')} listed as ${reason}.`

/** Messages with a number, and the details for it. */
const COUNTED = {
  resent: (count) =>
    countOf(
      count,
      "One email goes out in a moment, unless the person can't be emailed.",
      "emails go out in a moment, except to people who can't be emailed.",
    ),
  resent_braked: (count) =>
    countOf(
      count,
      'One email was queued. If it is a lifecycle email, it waits while the brake is on.',
      'emails were queued. Lifecycle emails wait while the brake is on.',
    ),
  resent_paused: (count) =>
    `${countOf(count, 'One email was', 'emails were')} queued. ${count === 1 ? 'It waits' : 'They wait'} while sending is paused.`,
  captured_refused: (count) =>
    `${countOf(count, 'One stays', 'stay')} captured, because another email from the same message was sent or is waiting, or because the event was deleted.`,
  failed_refused: (count) =>
    `${countOf(count, 'One stays', 'stay')} failed, because another email from the same message was sent or is waiting, or because the event was deleted.`,
  resent_gone: (count) => `${countOf(count, 'One was', 'were')} already sent or removed.`,
  addresses_added: (count) => `${countOf(count, '1 address was', 'addresses were')} added.`,
  addresses_listed: (count) => `${countOf(count, '1 was', 'were')} already on the list.`,
  lines_repeated: (count) => `${countOf(count, '1 line repeats', 'lines repeat')} an address.`,
  lines_as_unsubscribed: (count) => describeAssumed(count, 'unsubscribed'),
  lines_as_bounced: (count) => describeAssumed(count, 'bounced'),
  lines_as_complained: (count) => describeAssumed(count, 'complained'),
  lines_skipped: (count, lines) =>
    countOf(
      count,
      `Line ${lines.join('')} had no email address.`,
      `lines had no email address (lines ${lines.join(', ')}${count > lines.length ? ', …' : ''}).`,
    ),
  message_restored: (version, [current]) => `Version ${version} was restored as version ${current}.`,
  message_same: (version) => `Version ${version} is the same as the current version. Nothing changed.`,
  wrong_dates: (count) =>
    `${countOf(
      count,
      'One field is not a date, so it triggers no message for this person.',
      'fields are not dates, so they trigger no messages for this person.',
    )} Enter a date like 2026-11-30 or 2026-11-30T09:00:00Z. See which ${count === 1 ? 'field it is' : 'fields they are'} under Emails.`,
} as const satisfies Record<string, (count: number, others: number[]) => string>

export type FlashCode = keyof typeof FLASHES

/** A code without numbers, or one with them. */
export type Flash = FlashCode | readonly [keyof typeof COUNTED, number, ...number[]]

/** The count and five lines. */
const MOST_NUMBERS = 6

/** No message for a count of zero. */
export const countFlash = (code: keyof typeof COUNTED, count: number, others: number[] = []): Flash[] =>
  count === 0 ? [] : [[code, count, ...others.slice(0, MOST_NUMBERS - 1)]]

const COOKIE = 'flash'
const SECONDS = 60

const writeFlash = (flash: Flash): string => (typeof flash === 'string' ? flash : flash.join('-'))

const isCode = (text: string): text is FlashCode => Object.hasOwn(FLASHES, text)
const isCounted = (text: string): text is keyof typeof COUNTED => Object.hasOwn(COUNTED, text)

function readOne(text: string): Flash | null {
  if (isCode(text)) return text
  const [code = '', ...numbers] = text.split('-')
  const isRead = isCounted(code) && numbers.length <= MOST_NUMBERS && numbers.every((one) => /^\d{1,7}$/.test(one))
  const [count, ...others] = numbers.map(Number)
  return isRead && count !== undefined ? [code, count, ...others] : null
}

const readAll = (text: string): Flash[] =>
  text
    .split('.')
    .map(readOne)
    .filter((flash) => flash !== null)

export const readFlash = (request: Request, baseUrl: string): Flash[] =>
  readAll(readCookie(request, cookieName(baseUrl, COOKIE)) ?? '')

const describeOne = (flash: Flash, where: Where): string => {
  if (typeof flash !== 'string') {
    const [code, count, ...others] = flash
    return COUNTED[code](count, others)
  }
  const text = FLASHES[flash]
  return typeof text === 'string' ? text : text(where)
}

/** The action succeeded, but not completely, or with a risk. */
const CAUTIONS: readonly string[] = [
  'server_saved_unchecked',
  'still_sending',
  'captured_refused',
  'failed_refused',
  'lines_as_unsubscribed',
  'lines_as_bounced',
  'lines_as_complained',
  'lines_skipped',
  'wrong_dates',
] satisfies (FlashCode | keyof typeof COUNTED)[]

export type FlashText = { kind: 'done' | 'caution'; text: string }

const isCaution = (flash: Flash): boolean => CAUTIONS.includes(typeof flash === 'string' ? flash : flash[0])

export function describeFlash(flashes: Flash[], where: Where): FlashText | null {
  if (flashes.length === 0) return null
  const kind = flashes.some(isCaution) ? 'caution' : 'done'
  return { kind, text: flashes.map((flash) => describeOne(flash, where)).join(' ') }
}

export const flashCookie = (baseUrl: string, ...flashes: Flash[]): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: flashes.map(writeFlash).join('.'), maxAgeS: SECONDS })

/** Adds a second sentence if mail servers already had some emails. */
export const withStillSending = (flash: Flash, { stillSending }: StoppedEmails): Flash[] =>
  stillSending === 0 ? [flash] : [flash, 'still_sending']

/** Adds a message to those that the response already sets. */
export function addFlash({ headers }: Response, baseUrl: string, flash: Flash): void {
  const start = `${cookieName(baseUrl, COOKIE)}=`
  const earlier = headers.getSetCookie().findLast((cookie) => cookie.startsWith(start)) ?? ''
  const [value = ''] = earlier.slice(start.length).split(';')
  headers.append('Set-Cookie', flashCookie(baseUrl, ...readAll(value), flash))
}

export const noFlash = (baseUrl: string): string => cookieHeader(baseUrl, { name: COOKIE, value: '', maxAgeS: 0 })
