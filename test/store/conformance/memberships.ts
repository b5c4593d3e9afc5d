import { expect, test } from 'bun:test'
import type { Role } from '../../../src/store/types.ts'
import { AT, DAY, type Fresh, newAccount } from '../samples.ts'

const DONE = { done: true as const }
const GONE = { refusal: 'not_found' as const }
const ADA = 'owner1@example.com'
const by = (number: number, at = AT + 100) => ({ accountId: `acc_${number}`, actor: `mem_${number}`, at })
const link = (tokenHash: string, purpose: 'password' | 'invite' = 'invite') => ({
  tokenHash,
  purpose,
  expiresAt: AT + DAY,
})
const withPassword = (number: number) => ({ ...newAccount(number).member, passwordHash: `argon ${number}` })

/** One person in several accounts, and what each account sees of it, in order. */
export function testMemberships(store: Fresh): void {
  const membershipsOf = async (memberId: string) =>
    (await store().listAppAccess(memberId)).map(({ accountId, role, appId }) => [accountId, role, appId])
  const listed = async (number: number) =>
    (await store().listMembers(`acc_${number}`)).map(({ personId, role, isInvited }) => [personId, role, isInvited])
  const idIn = async (number: number, person: string) =>
    (await store().listMembers(`acc_${number}`)).find(({ personId }) => personId === person)?.id ?? 'none'
  const memberOf = async (number: number, person: string) => ({
    ...by(number),
    membershipId: await idIn(number, person),
  })
  const invite = (number: number, email: string, tokenHash: string, role: Role | null = 'viewer') =>
    store().inviteMember({
      ...by(number),
      member: { id: `mem_new_${tokenHash}`, membershipId: `in_${number}_${tokenHash}`, email, role },
      link: link(tokenHash),
    })
  const accept = (tokenHash: string, memberId: string, passwordHash: string) =>
    store().acceptInvitation({ tokenHash, memberId, passwordHash, at: AT + 200 })
  const setPassword = (tokenHash: string, passwordHash: string) =>
    store().setPasswordByLink({ tokenHash, passwordHash, at: AT + 200 })

  test('an owner with a password joins at once and sees the apps of the account', async () => {
    await store().createAccount(newAccount(1, { member: withPassword(1) }))
    await store().createAccount(newAccount(2, { member: withPassword(2) }))
    expect(await store().listAppAccess('mem_1')).toEqual([
      {
        accountId: 'acc_1',
        accountName: 'Account 1',
        role: 'owner',
        requiresTwoStep: false,
        isFirst: true,
        appId: 'app_1',
        appName: 'App 1',
        isActivated: false,
      },
    ])
    expect((await store().listAppAccess('mem_2')).map(({ isFirst }) => isFirst)).toEqual([false])
    expect(await store().listAppAccess('mem_none')).toEqual([])
  })

  test('a member of another account is invited like anyone and sees nothing before accepting', async () => {
    expect(await invite(2, ADA, 'ada')).toEqual({ ...DONE, membershipId: 'in_2_ada' })
    expect([await idIn(1, 'mem_1'), await idIn(2, 'mem_1')]).toEqual(['own_1', 'in_2_ada'])
    expect(await listed(2)).toEqual([
      ['mem_2', 'owner', false],
      ['mem_1', 'viewer', true],
    ])
    expect(await membershipsOf('mem_1')).toEqual([['acc_1', 'owner', 'app_1']])
    expect(await store().findMemberLink('ada', AT)).toEqual({
      member: { id: 'mem_1', email: ADA, passwordHash: 'argon 1' },
      endsTwoStep: false,
      invited: { accountId: 'acc_2', accountName: 'Account 2', role: 'viewer', isFirst: false },
    })
    for (const [token, at] of [
      ['ada', AT + DAY],
      ['none', AT],
    ] as const) {
      expect(await store().findMemberLink(token, at)).toBeNull()
    }
  })

  test('an invitation link does not change the password and needs it to be accepted', async () => {
    expect(await setPassword('ada', 'of who invites')).toEqual(GONE)
    expect(await accept('ada', 'mem_1', 'another')).toEqual(GONE)
    expect(await accept('ada', 'mem_2', 'argon 2')).toEqual(GONE)
    expect((await store().findMember(ADA))?.passwordHash).toBe('argon 1')
    expect(await accept('ada', 'mem_1', 'argon 1')).toEqual(DONE)
    expect(await accept('ada', 'mem_1', 'argon 1')).toEqual(GONE)
    expect(await membershipsOf('mem_1')).toEqual([
      ['acc_1', 'owner', 'app_1'],
      ['acc_2', 'viewer', 'app_2'],
    ])
  })

  test('records a wrong password only for an existing invitation link', async () => {
    expect(await store().noteRefusedPassword({ tokenHash: 'none', at: AT })).toEqual(GONE)
    await invite(2, 'noted', 'noted')
    expect(await store().noteRefusedPassword({ tokenHash: 'noted', at: AT })).toEqual(DONE)
    expect(await store().noteRefusedPassword({ tokenHash: 'noted', at: AT + DAY })).toEqual(GONE)
    expect(await store().removeMember(await memberOf(2, 'mem_new_noted'))).toEqual(DONE)
  })

  test('the account can replace a lost link until it is accepted', async () => {
    await invite(1, 'eve', 'eve 1')
    await invite(2, 'eve', 'eve 2')
    const again = (number: number, membershipId: string) =>
      store().inviteAgain({ ...by(number), membershipId, link: link(`again ${number} ${membershipId}`) })
    expect(await invite(2, ADA, 'ada again')).toEqual({ refusal: 'email_taken' })
    for (const id of ['in_2_ada', 'none', 'in_1_eve 1', 'mem_new_eve 1']) expect(await again(2, id)).toEqual(GONE)
    expect(await again(2, 'in_2_eve 2')).toEqual(DONE)
    expect(await store().findMemberLink('eve 2', AT)).toBeNull()
    expect(await store().findMemberLink('eve 1', AT)).not.toBeNull()
  })

  test('inviting someone again makes a new link with the old or the new role', async () => {
    const eve = { ...DONE, membershipId: 'in_1_eve 1' }
    const roleBy = async (token: string) => (await store().findMemberLink(token, AT))?.invited?.role
    expect(await invite(1, 'eve', 'eve 3', 'editor')).toEqual(eve)
    expect([await roleBy('eve 1'), await roleBy('eve 3')]).toEqual([undefined, 'editor'])
    expect(await invite(1, 'eve', 'eve 4', null)).toEqual(eve)
    expect([await roleBy('eve 3'), await roleBy('eve 4')]).toEqual([undefined, 'editor'])
    expect(await invite(1, 'eve', 'eve 1')).toEqual(eve)
    expect([await roleBy('eve 1'), await roleBy('again 2 in_2_eve 2')]).toEqual(['viewer', 'viewer'])
  })

  test('the only owner is invited again as owner after their link expired', async () => {
    await store().createAccount(newAccount(8, { inviteLink: link('eight') }))
    const owner = 'owner8@example.com'
    expect(await invite(8, owner, 'as a viewer')).toEqual({ refusal: 'last_owner' })
    expect(await store().findMemberLink('eight', AT)).not.toBeNull()
    expect(await invite(8, owner, 'eight again', null)).toEqual({ ...DONE, membershipId: 'own_8' })
    expect(await store().findMemberLink('eight', AT)).toBeNull()
    expect(await setPassword('eight again', 'argon 8')).toEqual(DONE)
    expect(await membershipsOf('mem_8')).toEqual([['acc_8', 'owner', 'app_8']])
  })

  test('setting the first password accepts only the invitation of that link', async () => {
    const eve = 'mem_new_eve 1'
    expect(await accept('eve 1', eve, 'none yet')).toEqual(GONE)
    expect(await setPassword('eve 1', 'argon eve')).toEqual(DONE)
    expect(await membershipsOf(eve)).toEqual([['acc_1', 'viewer', 'app_1']])
    expect(await setPassword('again 2 in_2_eve 2', 'of who invites')).toEqual(GONE)
    expect(await accept('again 2 in_2_eve 2', eve, 'argon eve')).toEqual(DONE)
    expect(await membershipsOf(eve)).toHaveLength(2)
  })

  test('roles are per account, and an invited owner is not an owner yet', async () => {
    const eve = 'mem_new_eve 1'
    expect(await store().setRole({ ...(await memberOf(1, eve)), role: 'editor' })).toEqual(DONE)
    expect(await membershipsOf(eve)).toEqual([
      ['acc_1', 'editor', 'app_1'],
      ['acc_2', 'viewer', 'app_2'],
    ])
    await invite(1, 'zoe', 'zoe')
    await store().setRole({ ...(await memberOf(1, 'mem_new_zoe')), role: 'owner' })
    expect(await store().removeMember({ ...(await memberOf(1, 'mem_1')) })).toEqual({ refusal: 'last_owner' })
    await setPassword('zoe', 'argon zoe')
    expect(await store().removeMember({ ...(await memberOf(1, 'mem_1')) })).toEqual(DONE)
    expect(await listed(1)).toEqual([
      [eve, 'editor', false],
      ['mem_new_zoe', 'owner', false],
    ])
  })

  test('a removed member stays in other accounts, and is deleted with the last one', async () => {
    const session = { id: 'ses_1', tokenHash: 'token', memberId: 'mem_1', browser: 'Firefox' }
    await store().startSession({ session, address: 'address', passwordHash: 'argon 1', replaces: null, at: AT })
    expect(await membershipsOf('mem_1')).toEqual([['acc_2', 'viewer', 'app_2']])
    expect(await store().removeMember({ ...(await memberOf(1, 'mem_1')) })).toEqual(GONE)
    await invite(1, ADA, 'back')
    expect(await store().removeMember({ ...(await memberOf(2, 'mem_1')) })).toEqual(DONE)
    expect([await membershipsOf('mem_1'), (await store().findSession('token'))?.member.email]).toEqual([[], ADA])
    expect(await store().removeMember({ ...(await memberOf(1, 'mem_1')) })).toEqual(DONE)
    expect([await store().findMember(ADA), await store().findSession('token')]).toEqual([null, null])
    expect(await store().findMemberLink('back', AT)).toBeNull()
    expect(await invite(1, ADA, 'anew')).toEqual({ ...DONE, membershipId: 'in_1_anew' })
    expect((await store().findMember(ADA))?.id).toBe('mem_new_anew')
  })

  test('owners cannot make a password link for a member of several accounts', async () => {
    const reset = (accountId: string | null, tokenHash: string) =>
      store().makePasswordLink({
        email: 'eve',
        link: link(tokenHash, 'password'),
        accountId,
        actor: 'mem_2',
        at: AT + 300,
      })
    expect(await reset('acc_2', 'owner')).toEqual({ refusal: 'reset_elsewhere' })
    expect(await reset('acc_3', 'owner')).toEqual(GONE)
    expect(await reset(null, 'operator')).toEqual(DONE)
    expect(await store().findMemberLink('owner', AT)).toBeNull()
    expect(await store().findMemberLink('operator', AT)).toMatchObject({ member: { email: 'eve' }, invited: null })
    expect(await setPassword('operator', 'argon new')).toEqual(DONE)
    expect((await store().findMember('eve'))?.passwordHash).toBe('argon new')
  })

  test('another account for a known person needs their password or their link', async () => {
    const eve = (number: number, passwordHash: string | null) =>
      newAccount(number, {
        member: { id: 'mem_unused', membershipId: `own_${number}`, email: 'eve', passwordHash },
        inviteLink: passwordHash === null ? link(`own ${number}`) : null,
      })
    expect(await store().createAccount(eve(6, 'another'))).toEqual({ refusal: 'email_taken' })
    expect(await store().createAccount(eve(6, 'argon new'))).toEqual(DONE)
    expect(await store().createAccount(eve(7, null))).toEqual(DONE)
    const accounts = async () => (await membershipsOf('mem_new_eve 1')).map(([account]) => account)
    expect(await accounts()).toEqual(['acc_6', 'acc_1', 'acc_2'])
    expect(await accept('own 7', 'mem_new_eve 1', 'argon new')).toEqual(DONE)
    expect(await accounts()).toEqual(['acc_6', 'acc_1', 'acc_2', 'acc_7'])
    expect((await store().findMember('eve'))?.passwordHash).toBe('argon new')
  })

  test('an invited person can set a first password with their own account and stays invited', async () => {
    const fay = 'mem_new_fay'
    await invite(1, 'fay', 'fay')
    const reset = { email: 'fay', link: link('used', 'password'), accountId: null, actor: 'cli', at: AT }
    await store().makePasswordLink(reset)
    const own = { id: 'mem_unused', email: 'fay', passwordHash: 'argon fay' }
    const account = newAccount(9, { member: { ...own, membershipId: 'own_9' } })
    expect(await store().createAccount(account)).toEqual(DONE)
    expect(await store().findMember('fay')).toEqual({ ...own, id: fay })
    expect(await membershipsOf(fay)).toEqual([['acc_9', 'owner', 'app_9']])
    expect(await setPassword('fay', 'of who invites')).toEqual(GONE)
    expect(await setPassword('used', 'of who had it')).toEqual(GONE)
    expect(await accept('fay', fay, 'argon fay')).toEqual(DONE)
    expect(await membershipsOf(fay)).toHaveLength(2)
  })

  test('setting the first password by a link of the operator accepts all invitations', async () => {
    for (const number of [1, 6]) await invite(number, 'bob', `bob ${number}`)
    const reset = { email: 'bob', link: link('bob', 'password'), accountId: null, actor: 'cli', at: AT }
    await store().makePasswordLink(reset)
    expect(await setPassword('bob', 'argon bob')).toEqual(DONE)
    expect((await membershipsOf('mem_new_bob 1')).map(([account]) => account)).toEqual(['acc_1', 'acc_6'])
    for (const number of [1, 6]) expect(await store().findMemberLink(`bob ${number}`, AT)).toBeNull()
  })
}

/** Where an owner may: on a server with one account, until it has another. */
export function testOnlyAccount(store: Fresh): void {
  test('joining another account revokes a password link that an owner made', async () => {
    await store().createAccount(newAccount(1, { member: withPassword(1) }))
    await store().inviteMember({
      ...by(1),
      member: { id: 'mem_eve', membershipId: 'in_eve', email: 'eve', role: 'viewer' },
      link: link('eve'),
    })
    const reset = (email: string) =>
      store().makePasswordLink({ ...by(1), email, link: link(`reset ${email}`, 'password') })
    expect(await reset('eve')).toEqual(GONE)
    expect(await reset(ADA)).toEqual(DONE)
    expect(await store().findMemberLink(`reset ${ADA}`, AT)).not.toBeNull()
    await store().createAccount(newAccount(2))
    expect(await store().findMemberLink(`reset ${ADA}`, AT)).toBeNull()
    expect(await store().findMemberLink('eve', AT)).not.toBeNull()
  })
}
