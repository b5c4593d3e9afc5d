/** What may change in an account, its members, links and sessions, with plain facts. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ACCOUNT_RULES, MOST_SESSIONS, SIGN_INS_KEPT_MS } from '../../src/accounts/account-rules.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../src/accounts/identity.ts'
import { RATE_LIMITS } from '../../src/accounts/limits.ts'
import { ROLES } from '../../src/accounts/members.ts'
import { SESSION_IDLE_MS } from '../../src/accounts/sessions.ts'
import type { AccountFacts, AccountMember, Link } from '../../src/store/account-rules.ts'
import type { Refused } from '../../src/store/types.ts'
import { SENDER_PROOFS } from '../../src/store/message-types.ts'

const AT = 1_000_000_000_000
const DAY = 86_400_000
const rules = ACCOUNT_RULES
const LAST_OWNER: Refused = { refusal: 'last_owner' }
const NOT_FOUND: Refused = { refusal: 'not_found' }

const ada: AccountMember = { memberId: 'ada', role: 'owner', isJoined: true }
const bob: AccountMember = { memberId: 'bob', role: 'editor', isJoined: true }
const eve: AccountMember = { memberId: 'eve', role: 'owner', isJoined: false }

const linkOf = (changes: Partial<Link> = {}): Link => ({
  purpose: 'invite',
  memberId: 'ada',
  accountId: 'acc_1',
  endsTwoStep: false,
  expiresAt: AT + 1,
  ...changes,
})

describe('an account', () => {
  const plan = (changes: Partial<AccountFacts> = {}) =>
    rules.planAccount({
      onlyFirst: false,
      accounts: 0,
      passwordHash: 'hash',
      storedHash: null,
      setup: null,
      ...changes,
    })

  test('is joined by its owner, whose first password it sets', () =>
    expect(plan()).toEqual({ setsPassword: true, joins: true, bindsDomains: false, snippetLimits: true }))
  test('is joined by link if no password is given', () =>
    expect(plan({ passwordHash: null, storedHash: 'hash' })).toMatchObject({ setsPassword: false, joins: false }))
  test('of a known owner needs their password', () => {
    expect(plan({ storedHash: 'hash' })).toMatchObject({ setsPassword: false, joins: true })
    expect(plan({ storedHash: 'other' })).toEqual({ refusal: 'email_taken' })
  })
  test('is refused if another exists and only the first is wanted', () => {
    expect(plan({ onlyFirst: true, accounts: 1 })).toEqual({ refusal: 'already_set_up' })
    expect(plan({ onlyFirst: true })).toHaveProperty('joins')
  })
  test('binds the domains of the one before it, when it is the second', () => {
    const binds = [0, 1, 2].map((accounts) => plan({ accounts }))
    expect(binds).toMatchObject([{ bindsDomains: false }, { bindsDomains: true }, { bindsDomains: false }])
  })
  test.each<[string, Link | null, boolean]>([
    ['a setup link', linkOf({ purpose: 'setup' }), true],
    ['an expired link', linkOf({ purpose: 'setup', expiresAt: AT }), false],
    ['another kind of link', linkOf(), false],
    ['an unknown link', null, false],
  ])('by %s', (_, link, isMade) => {
    const found = plan({ setup: { link, at: AT } })
    if (isMade) expect(found).toHaveProperty('joins', true)
    else expect(found).toEqual(NOT_FOUND)
  })
})

describe('an account keeps an owner who has joined', () => {
  test.each<[string, AccountMember[], string, AccountMember['role'] | null, Refused | null]>([
    ['the last owner is not removed', [ada, bob], 'ada', null, LAST_OWNER],
    ['the last owner is not made an editor', [ada, bob], 'ada', 'editor', LAST_OWNER],
    ['an invited owner does not count', [ada, eve], 'ada', 'viewer', LAST_OWNER],
    ['one of two owners is removed', [ada, { ...bob, role: 'owner' }], 'ada', null, null],
    ['an editor is removed', [ada, bob], 'bob', null, null],
    ['anyone is made an owner', [bob], 'bob', 'owner', null],
  ])('%s', (_, members, memberId, role, expected) =>
    expect(rules.refuseRole(members, { memberId, role })).toEqual(expected),
  )

  test('whatever changes', () => {
    const member = fc.record({
      memberId: fc.constantFrom('a', 'b', 'c', 'd'),
      role: fc.constantFrom(...ROLES),
      isJoined: fc.boolean(),
    })
    const members = fc.uniqueArray(member, { selector: ({ memberId }) => memberId, maxLength: 4 })
    const role = fc.option(fc.constantFrom(...ROLES))
    const hasOwner = (of: AccountMember[]) => of.some((one) => one.role === 'owner' && one.isJoined)
    fc.assert(
      fc.property(members, fc.constantFrom('a', 'b', 'c', 'd'), role, (before, memberId, wanted) => {
        fc.pre(hasOwner(before))
        if (rules.refuseRole(before, { memberId, role: wanted })) return
        const after = before.flatMap((one) =>
          one.memberId !== memberId ? [one] : wanted === null ? [] : [{ ...one, role: wanted }],
        )
        expect(hasOwner(after)).toBe(true)
      }),
    )
  })
})

describe('an invitation', () => {
  const invite = (memberId: string, role: AccountMember['role'] | null, members = [ada, bob, eve]) =>
    rules.planInvite(members, { memberId, role })

  test('of someone new is for an editor unless it says otherwise', () => {
    expect(invite('new', null)).toEqual({ role: 'editor', change: 'add' })
    expect(invite('new', 'owner')).toEqual({ role: 'owner', change: 'add' })
  })
  test('again keeps the role or changes it', () => {
    expect(invite('eve', null)).toEqual({ role: 'owner', change: 'none' })
    expect(invite('eve', 'owner')).toEqual({ role: 'owner', change: 'none' })
    expect(invite('eve', 'viewer')).toEqual({ role: 'viewer', change: 'setRole' })
  })
  test('of a member is refused', () => expect(invite('bob', 'owner')).toEqual({ refusal: 'email_taken' }))
  test('of the only owner stays that of an owner', () => expect(invite('eve', 'viewer', [eve])).toEqual(LAST_OWNER))

  test.each<[string, Partial<Link> | null, boolean, boolean]>([
    ['by its person', {}, true, true],
    ['with an old password', {}, false, false],
    ['by someone else', { memberId: 'bob' }, true, false],
    ['when it has expired', { expiresAt: AT }, true, false],
    ['by a password link', { purpose: 'password' }, true, false],
    ['of no account', { accountId: null }, true, false],
    ['that is unknown', null, true, false],
  ])('is accepted %s', (_, changes, isProven, isAccepted) => {
    const link = changes && linkOf(changes)
    const found = rules.refuseAcceptance({ link, at: AT, memberId: 'ada', isProven })
    expect(found).toEqual(isAccepted ? null : NOT_FOUND)
  })
})

describe('a password link', () => {
  const reset = (isByOwner: boolean, isJoined: boolean, isOnly: boolean) =>
    rules.refuseReset({ isByOwner, isJoined, isOnlyAccount: () => isOnly })
  test('is made by the operator for anyone, and by owners for members of the only account', () => {
    expect([reset(false, false, false), reset(true, true, true)]).toEqual([null, null])
    expect([reset(true, false, true), reset(true, true, false)]).toEqual([NOT_FOUND, { refusal: 'reset_elsewhere' }])
  })

  const plan = (changes: Partial<Link> | null, passwordHash: string | null) =>
    rules.planPassword({
      link: changes && linkOf(changes),
      at: AT,
      member: { passwordHash },
      invitedTo: () => ['acc_1', 'acc_2'],
    })
  test('with a first password accepts its own invitation, or all if the operator made it', () => {
    expect(plan({}, null)).toEqual({ accepts: ['acc_1'], endsTwoStep: false })
    expect(plan({ purpose: 'password', accountId: null }, null)).toMatchObject({ accepts: ['acc_1', 'acc_2'] })
  })
  test('with a later password accepts nothing', () => {
    expect(plan({ purpose: 'password', endsTwoStep: true }, 'old')).toEqual({ accepts: [], endsTwoStep: true })
    expect(plan({}, 'old')).toEqual(NOT_FOUND)
  })
  test('is refused if it is unknown or has expired', () =>
    expect([plan(null, null), plan({ expiresAt: AT }, null)]).toEqual([NOT_FOUND, NOT_FOUND]))
})

describe('a sign-in', () => {
  test('needs the current password and, if it is on, the second step', () => {
    const isProven = (isPasswordCurrent: boolean, isStepDone: boolean, hasTwoStep: boolean) =>
      rules.isSignInProven({ isPasswordCurrent, isStepDone, hasTwoStep })
    expect([isProven(true, false, false), isProven(true, true, true)]).toEqual([true, true])
    expect([isProven(false, true, true), isProven(true, false, true)]).toEqual([false, false])
  })

  test('ends the sessions that were not used for longest', () => {
    const others = Array.from({ length: MOST_SESSIONS + 1 }, (_, i) => ({
      id: `ses_${i}`,
      lastSeenAt: i % 2 ? AT : AT + i,
    }))
    expect(rules.listEndedSessions(others)).toEqual(['ses_1', 'ses_0'])
    expect(rules.listEndedSessions(others.slice(2))).toEqual([])
  })
})

test('two-step sign-in stays on if an account requires it', () => {
  expect(rules.refuseOneStep([{ requiresTwoStep: false }, { requiresTwoStep: true }])).toEqual({
    refusal: 'two_step_required',
  })
  expect([rules.refuseOneStep([]), rules.refuseOneStep([{ requiresTwoStep: false }])]).toEqual([null, null])
})

test('only the operator takes a domain from other accounts', () =>
  expect(SENDER_PROOFS.filter(rules.isExclusive)).toEqual(['operator']))

test('nothing is deleted while it may be needed, with a clock that is a day off', () => {
  const expiries = rules.expiriesAt(AT)
  expect(AT - expiries.sessionsAt).toBeGreaterThanOrEqual(SESSION_IDLE_MS + DAY)
  expect(AT - expiries.secretsAt).toBeGreaterThanOrEqual(PREVIOUS_SECRET_VALID_MS + DAY)
  const longestMs = Math.max(...Object.values(RATE_LIMITS).map(({ windowMs }) => windowMs))
  expect(AT / 1000 - expiries.usageSecond).toBeGreaterThanOrEqual(longestMs / 1000)
  expect([expiries.linksAt, expiries.signInsAt]).toEqual([AT, AT - SIGN_INS_KEPT_MS])
  expect([expiries.callsAt, expiries.formsAt, expiries.setUpsAt]).toEqual([AT - 90 * DAY, AT - 2 * DAY, AT - 3_600_000])
})
