import type { StoppedEmails } from '../../core/hand-overs.ts'
import type { Place } from '../../accounts/members.ts'
import { cookieHeader, cookieName, readCookie } from '../access/cookies.ts'
import { ROLE_PHRASES } from '../../accounts/members.ts'

type Where = Pick<Place, 'accountName' | 'role'>

/** Messages shown after a redirect. The cookie holds codes only, so no one can inject text. */
const FLASHES = {
  set_up: 'Eventpost is set up, and you are signed in.',
  password_set: 'Your new password is set. Wherever you were signed in with another one, you are signed out.',
  password_alone:
    'Your new password is set, and two-step sign-in is off: the password alone signs you in. Wherever you were signed in with another one, you are signed out.',
  welcome: ({ accountName, role }: Where) =>
    `Your password is set, and you have joined the account ${accountName} as ${ROLE_PHRASES[role]}.`,
  password_changed: 'Your password was changed, and all your other sessions have ended.',
  session_ended: 'The session has ended.',
  sessions_ended: 'All your other sessions have ended.',
  two_step_required: ({ accountName }: Where) =>
    `The account ${accountName} requires two-step sign-in. Set it up to open its pages.`,
  two_step_asked: 'All members now need two-step sign-in. Those without it set it up at their next page.',
  two_step_free: 'Two-step sign-in is now each member’s own choice.',
  member_signed_out: 'All sessions of the member have ended.',
  two_step_off: 'Two-step sign-in is off. From now on your password alone signs you in.',
  recovery_code_used: 'You signed in with a recovery code, which is used up. Your own page says how many are left.',
  key_revoked: 'The key was revoked. Requests with it are refused from now on.',
  secrets_revoked: 'No previous identity secret works any more. Signatures made with one are refused from now on.',
  app_made: 'The app was made. Its IDs, its code and its tag are on this page.',
  settings_saved: 'The settings were saved. They hold from now on.',
  account_renamed: 'The account was renamed.',
  role_changed: 'The role was changed. It holds from their next page on.',
  member_removed: 'The member was removed. They see nothing of this account any more.',
  joined: ({ accountName }: Where) =>
    `You have joined the account ${accountName}. Switch between yours with the list at the top.`,
  person_erased: 'The person was erased, with all that was held about them.',
  sent_on: 'The mail goes out next, unless the person must not be written to.',
  sender_saved: 'The sender was saved. It holds from the next mail on.',
  dkim_made: 'A new key pair was made, and signs from the next mail on. Publish its record.',
  dkim_removed: 'The key was removed. Mails go out unsigned from now on.',
  address_suppressed: 'The address was added. No more mail goes to it.',
  address_freed: 'The address was taken off the list. Mail may go to it again.',
  message_saved: 'The message was saved.',
  message_live: 'The message is live. Whoever it is for is written to from now on.',
  message_paused: 'The message is paused. Nobody is written to until it is live again.',
  message_draft: 'The message is a draft again. Nobody is written to.',
  still_sending: 'Emails that were already with the mail server may still arrive.',
  message_deleted: 'The message was deleted, with all its versions.',
  test_sent: 'The test event was taken. It is the newest of this app.',
} as const

export type FlashCode = keyof typeof FLASHES

const COOKIE = 'flash'
const SECONDS = 60

const isFlash = (text: string): text is FlashCode => Object.hasOwn(FLASHES, text)

const readCodes = (codes: string): FlashCode[] => codes.split('.').filter(isFlash)

export const readFlash = (request: Request, baseUrl: string): FlashCode[] =>
  readCodes(readCookie(request, cookieName(baseUrl, COOKIE)) ?? '')

const describeCode = (code: FlashCode, where: Where): string => {
  const said = FLASHES[code]
  return typeof said === 'string' ? said : said(where)
}

export function describeFlash(codes: FlashCode[], where: Where): string | null {
  return codes.length === 0 ? null : codes.map((code) => describeCode(code, where)).join(' ')
}

export const flashCookie = (baseUrl: string, ...codes: FlashCode[]): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: codes.join('.'), maxAgeS: SECONDS })

/** Adds a second sentence if mail servers already had some emails. */
export const withStillSending = (code: FlashCode, { stillSending }: StoppedEmails): FlashCode[] =>
  stillSending === 0 ? [code] : [code, 'still_sending']

/** Adds a code to those that the response already sets. */
export function addFlash({ headers }: Response, baseUrl: string, code: FlashCode): void {
  const start = `${cookieName(baseUrl, COOKIE)}=`
  const earlier = headers.getSetCookie().findLast((cookie) => cookie.startsWith(start)) ?? ''
  const [codes = ''] = earlier.slice(start.length).split(';')
  headers.append('Set-Cookie', flashCookie(baseUrl, ...readCodes(codes), code))
}

export const noFlash = (baseUrl: string): string => cookieHeader(baseUrl, { name: COOKIE, value: '', maxAgeS: 0 })
