import { expect, test } from 'bun:test'
import { AT, DAY, type Fresh, newAccount } from '../samples.ts'

const DONE = { done: true as const }
const GONE = { refusal: 'not_found' as const }
const cli = { accountId: 'acc_1', actor: 'cli', at: AT }
const link = (tokenHash: string, purpose: 'password' | 'invite' = 'invite') => ({
  tokenHash,
  purpose,
  expiresAt: AT + DAY,
})
const session = (id: string, memberId = 'mem_1') => ({ id, tokenHash: `hash of ${id}`, memberId, browser: 'Firefox' })

/** The life of two members of one account, in order. */
export function testMembers(store: Fresh): void {
  const start = (id: string, passwordHash: string, replaces: string | null = null, at = AT) =>
    store().startSession({ session: session(id), address: 'address', passwordHash, replaces, at })
  const listed = async (memberId = 'mem_1') => (await store().listSessions(memberId)).map(({ id }) => id)

  test('finds an owner by email, with the password hash', async () => {
    await store().createAccount(newAccount(1, { inviteLink: link('first') }))
    await store().createAccount(newAccount(2))
    const owner = { id: 'mem_1', email: 'owner1@example.com', passwordHash: null }
    expect(await store().findMember('owner1@example.com')).toEqual(owner)
    expect(await store().setPasswordByLink({ tokenHash: 'first', passwordHash: 'argon', at: AT })).toEqual(DONE)
    expect((await store().findMember('owner1@example.com'))?.passwordHash).toBe('argon')
    expect(await store().findMember('nobody@example.com')).toBeNull()
  })

  test('invites a member by a link that works once', async () => {
    const invite = (email: string) =>
      store().inviteMember({
        ...cli,
        member: { id: `mem_${email}`, membershipId: `in_${email}`, email, role: 'viewer' },
        link: link(email),
      })
    expect(await invite('owner1@example.com')).toEqual({ refusal: 'email_taken' })
    expect(await store().hasLink('owner1@example.com', 'invite', AT)).toBe(false)
    expect(await invite('eve')).toEqual({ ...DONE, membershipId: 'in_eve' })
    expect(await store().findMember('eve')).toEqual({ id: 'mem_eve', email: 'eve', passwordHash: null })
    expect(await store().hasLink('eve', 'invite', AT)).toBe(true)
  })

  test('a session starts with the right hash and replaces the previous session of the browser', async () => {
    expect(await start('ses_a', 'another')).toEqual(GONE)
    expect(await store().findSession('hash of ses_a')).toBeNull()
    expect(await start('ses_a', 'argon')).toEqual(DONE)
    const times = { createdAt: AT, lastSeenAt: AT, confirmedAt: AT }
    const found = { id: 'ses_a', memberId: 'mem_1', browser: 'Firefox', ...times }
    const member = { id: 'mem_1', email: 'owner1@example.com', passwordHash: 'argon' }
    expect(await store().findSession('hash of ses_a')).toEqual({ session: found, member })
    expect(await start('ses_b', 'argon', 'hash of ses_a', AT + 1)).toEqual(DONE)
    expect(await listed()).toEqual(['ses_b'])
  })

  test('a session is touched, and confirmed by its member with the right hash', async () => {
    const own = { memberId: 'mem_1', sessionId: 'ses_b', at: AT + 20 }
    await store().touchSession({ sessionId: 'ses_b', at: AT + 10 })
    const confirm = (more: { passwordHash: string; memberId?: string; sessionId?: string }) =>
      store().confirmSession({ ...own, tokenHash: 'new hash', ...more })
    expect(await confirm({ passwordHash: 'another' })).toEqual(GONE)
    await confirm({ memberId: 'mem_2', passwordHash: 'argon' })
    expect((await store().listSessions('mem_1'))[0]).toMatchObject({ lastSeenAt: AT + 10, confirmedAt: AT + 1 })
    expect(await confirm({ sessionId: 'ses_none', passwordHash: 'argon' })).toEqual({ refusal: 'already_done' })
    expect(await store().findSession('hash of ses_b')).not.toBeNull()
    expect(await confirm({ passwordHash: 'argon' })).toEqual(DONE)
    expect((await store().listSessions('mem_1'))[0]).toMatchObject({ lastSeenAt: AT + 10, confirmedAt: AT + 20 })
    expect(await store().findSession('hash of ses_b')).toBeNull()
    expect((await store().findSession('new hash'))?.session.id).toBe('ses_b')
  })

  test('a member ends one of their sessions or all others', async () => {
    for (const id of ['ses_c', 'ses_d', 'ses_e']) await start(id, 'argon', null, AT + 2)
    await store().endSession({ memberId: 'mem_2', sessionId: 'ses_c', at: AT })
    await store().endOtherSessions({ memberId: 'mem_2', sessionId: 'ses_c', at: AT })
    expect(await listed()).toEqual(['ses_e', 'ses_d', 'ses_c', 'ses_b'])
    await store().endSession({ memberId: 'mem_1', sessionId: 'ses_c', at: AT })
    expect(await listed()).toEqual(['ses_e', 'ses_d', 'ses_b'])
    await store().endOtherSessions({ memberId: 'mem_1', sessionId: 'ses_d', at: AT })
    expect(await listed()).toEqual(['ses_d'])
  })

  test('changing the password ends other sessions and changes the token of this one', async () => {
    await start('ses_f', 'argon', null, AT + 3)
    const own = { memberId: 'mem_1', sessionId: 'ses_d', at: AT + 30, passwordHash: 'new', tokenHash: 'other hash' }
    expect(await store().changePassword({ ...own, oldHash: 'another' })).toEqual(GONE)
    expect(await listed()).toEqual(['ses_f', 'ses_d'])
    expect(await store().changePassword({ ...own, oldHash: 'argon' })).toEqual(DONE)
    expect(await listed()).toEqual(['ses_d'])
    expect(await store().findSession('hash of ses_d')).toBeNull()
    expect((await store().findSession('other hash'))?.session.confirmedAt).toBe(AT + 30)
    expect(await start('ses_g', 'argon')).toEqual(GONE)
  })

  test('a new password link revokes earlier ones, and using it ends all sessions', async () => {
    const make = (email: string, token: string) =>
      store().makePasswordLink({ email, link: link(token, 'password'), accountId: null, actor: 'cli', at: AT })
    expect(await make('nobody@example.com', 'none')).toEqual(GONE)
    await make('owner1@example.com', 'one')
    await make('owner1@example.com', 'two')
    expect(await store().hasLink('one', 'password', AT)).toBe(false)
    expect(await listed()).toEqual(['ses_d'])
    expect(await store().setPasswordByLink({ tokenHash: 'two', passwordHash: 'newest', at: AT })).toEqual(DONE)
    expect([await listed(), await store().hasLink('two', 'password', AT)]).toEqual([[], false])
    expect(await store().hasLink('eve', 'invite', AT)).toBe(true)
  })

  test('an account changes roles and removes members, but keeps an owner', async () => {
    const by = { ...cli, actor: 'mem_1' }
    const roles = async () => (await store().listMembers('acc_1')).map(({ id, role }) => [id, role])
    expect(await store().listMembers('acc_1')).toEqual([
      { id: 'in_eve', personId: 'mem_eve', email: 'eve', role: 'viewer', isInvited: true, createdAt: AT },
      {
        id: 'own_1',
        personId: 'mem_1',
        email: 'owner1@example.com',
        role: 'owner',
        isInvited: false,
        createdAt: AT + 1,
      },
    ])
    const other = { ...by, accountId: 'acc_2' }
    expect(await store().setRole({ ...other, membershipId: 'in_eve', role: 'owner' })).toEqual(GONE)
    expect(await store().removeMember({ ...other, membershipId: 'in_eve' })).toEqual(GONE)
    // the id of the person, which is the same in all accounts, finds nobody
    expect(await store().setRole({ ...by, membershipId: 'mem_eve', role: 'owner' })).toEqual(GONE)
    const last = { refusal: 'last_owner' as const }
    expect(await store().setRole({ ...by, membershipId: 'own_1', role: 'editor' })).toEqual(last)
    expect(await store().removeMember({ ...by, membershipId: 'own_1' })).toEqual(last)
    expect(await store().setRole({ ...by, membershipId: 'in_eve', role: 'owner' })).toEqual(DONE)
    // who has no password yet cannot go on alone
    expect(await store().removeMember({ ...by, membershipId: 'own_1' })).toEqual(last)
    await store().setPasswordByLink({ tokenHash: 'eve', passwordHash: 'argon', at: AT })
    expect(await store().setRole({ ...by, membershipId: 'own_1', role: 'editor' })).toEqual(DONE)
    expect(await roles()).toEqual([
      ['in_eve', 'owner'],
      ['own_1', 'editor'],
    ])
    expect(await store().setRole({ ...by, membershipId: 'own_1', role: 'owner' })).toEqual(DONE)
    await store().startSession({
      address: 'address',
      session: session('ses_eve', 'mem_eve'),
      passwordHash: 'argon',
      replaces: null,
      at: AT,
    })
    const again = { email: 'eve', link: link('eve again', 'password'), accountId: null, actor: 'cli', at: AT }
    await store().makePasswordLink(again)
    expect(await store().removeMember({ ...by, membershipId: 'in_eve' })).toEqual(DONE)
    expect([await roles(), await listed('mem_eve')]).toEqual([[['own_1', 'owner']], []])
    expect(await store().hasLink('eve again', 'password', AT)).toBe(false)
    expect(await store().findSession('hash of ses_eve')).toBeNull()
  })

  test('deletes sessions and forms long after their last use', async () => {
    await start('ses_h', 'newest')
    await store().cleanUp({ at: AT + 3 * DAY - 1 })
    expect(await listed()).toEqual(['ses_h'])
    await store().cleanUp({ at: AT + 3 * DAY })
    expect(await listed()).toEqual([])
  })
}
