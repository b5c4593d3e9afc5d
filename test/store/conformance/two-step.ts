import { expect, test } from 'bun:test'
import { AT, DAY, type Fresh, HOUR, newAccount } from '../samples.ts'

const DONE = { done: true as const }
const GONE = { refusal: 'not_found' as const }
const OVER = { refusal: 'already_done' as const }
const own = { memberId: 'mem_1', at: AT + 10 }
const by = { accountId: 'acc_1', actor: 'mem_1', at: AT }
const link = (tokenHash: string, purpose: 'password' | 'invite' = 'invite') => ({
  tokenHash,
  purpose,
  expiresAt: AT + DAY,
})

/** The life of a member's second step, in order. */
export function testTwoSteps(store: Fresh): void {
  const start = (id: string, isSecondStepDone?: boolean) =>
    store().startSession({
      address: 'address',
      session: { id, tokenHash: `hash of ${id}`, memberId: 'mem_1', browser: 'Firefox' },
      passwordHash: 'argon',
      replaces: null,
      at: AT,
      isSecondStepDone,
    })
  const listed = async () => (await store().listSessions('mem_1')).map(({ id }) => id)
  const turnOn = (startedAt: number, codeHashes = ['one', 'two']) =>
    store().turnOnTwoStep({ ...own, startedAt, step: 50, sessionId: 'ses_a', codeHashes })
  const left = async () => (await store().findTwoStep('mem_1'))?.codesLeft

  test('a set-up keeps its secret, is not required at sign-in, and expires after an hour', async () => {
    await store().createAccount(newAccount(1, { inviteLink: link('first') }))
    await store().setPasswordByLink({ tokenHash: 'first', passwordHash: 'argon', at: AT })
    expect(await store().findTwoStep('mem_1')).toBeNull()
    expect(await store().startTwoStep({ ...own, secret: 'FIRST', at: AT })).toEqual(DONE)
    expect(await store().startTwoStep({ ...own, secret: 'SECOND', at: AT + 1 })).toEqual(DONE)
    const row = { memberId: 'mem_1', secret: 'FIRST', startedAt: AT, turnedOnAt: null, codesMadeAt: AT }
    expect(await store().findTwoStep('mem_1')).toEqual({ ...row, lastStep: 0, codesLeft: 0 })
    expect([await start('ses_a'), await store().listTwoStepOn(['mem_1'])]).toEqual([DONE, []])
    expect(await store().takeCode({ ...own, startedAt: AT, step: 60 })).toEqual(OVER)
    expect(await store().renewRecoveryCodes({ ...own, codeHashes: ['x'], replaces: AT })).toEqual(OVER)
    await store().cleanUp({ at: AT + HOUR - 1 })
    expect((await store().findTwoStep('mem_1'))?.secret).toBe('FIRST')
    await store().cleanUp({ at: AT + HOUR })
    expect([await store().findTwoStep('mem_1'), await turnOn(AT)]).toEqual([null, OVER])
  })

  test('turning it on works once, with the set-up of the code, and ends all other sessions', async () => {
    await store().startTwoStep({ ...own, secret: 'THIRD', at: AT + 5 })
    await start('ses_b')
    expect([await turnOn(AT), await listed()]).toEqual([OVER, ['ses_b', 'ses_a']])
    expect([await turnOn(AT + 5), await turnOn(AT + 5, ['three'])]).toEqual([DONE, OVER])
    const on = { turnedOnAt: AT + 10, lastStep: 50, codesMadeAt: AT + 10, codesLeft: 2 }
    expect(await store().findTwoStep('mem_1')).toMatchObject(on)
    expect([await listed(), await store().listTwoStepOn(['mem_1', 'mem_2'])]).toEqual([['ses_a'], ['mem_1']])
    expect(await store().startTwoStep({ ...own, secret: 'FOURTH', at: AT })).toEqual(OVER)
    await store().cleanUp({ at: AT + 2 * HOUR })
    expect((await store().findTwoStep('mem_1'))?.secret).toBe('THIRD')
  })

  test('no session starts without it', async () => {
    expect([await start('ses_c'), await start('ses_c', false), await listed()]).toEqual([GONE, GONE, ['ses_a']])
    expect([await start('ses_c', true), await listed()]).toEqual([DONE, ['ses_c', 'ses_a']])
  })

  test('accepts a code once and no earlier one, also under concurrent requests', async () => {
    const take = (step: number, startedAt = AT + 5) => store().takeCode({ ...own, startedAt, step })
    expect([await take(49), await take(50), await take(51, AT)]).toEqual([OVER, OVER, OVER])
    const both = await Promise.all([take(52), take(52)])
    expect(both).toEqual([DONE, OVER])
    expect([await take(51), await take(53), (await store().findTwoStep('mem_1'))?.lastStep]).toEqual([OVER, DONE, 53])
    expect(await store().takeCode({ memberId: 'mem_2', startedAt: AT + 5, step: 60 })).toEqual(OVER)
  })

  test('a recovery code works once, for its member', async () => {
    const take = (codeHash: string, memberId = 'mem_1') => store().takeRecoveryCode({ ...own, memberId, codeHash })
    expect([await take('three'), await take('one', 'mem_2'), await left()]).toEqual([GONE, GONE, 2])
    expect(await Promise.all([take('one'), take('one')])).toEqual([DONE, GONE])
    expect(await left()).toBe(1)
  })

  test('new recovery codes replace the old ones, once', async () => {
    const renew = (codeHashes: string[], replaces: number) =>
      store().renewRecoveryCodes({ ...own, at: AT + 20, codeHashes, replaces })
    expect([await renew(['four'], AT), await left()]).toEqual([OVER, 1])
    expect(await renew(['four', 'five', 'six'], AT + 10)).toEqual(DONE)
    expect([await renew(['seven'], AT + 10), await left()]).toEqual([OVER, 3])
    expect(await store().takeRecoveryCode({ ...own, codeHash: 'two' })).toEqual(GONE)
  })

  test('a password link leaves it on unless it was made to turn it off', async () => {
    const reset = async (endsTwoStep: boolean) => {
      const made = link(`ends: ${endsTwoStep}`, 'password')
      const cli = { actor: 'cli', accountId: null, at: AT }
      await store().makePasswordLink({ ...cli, email: 'owner1@example.com', link: made, endsTwoStep })
      const isOn = (await store().listTwoStepOn(['mem_1'])).length
      await store().setPasswordByLink({ tokenHash: made.tokenHash, passwordHash: 'argon', at: AT })
      return [isOn, (await store().listTwoStepOn(['mem_1'])).length]
    }
    expect([await reset(false), await reset(true)]).toEqual([
      [1, 1],
      [1, 0],
    ])
    expect([await store().findTwoStep('mem_1'), await start('ses_d')]).toEqual([null, DONE])
  })

  test('any new password discards an unfinished set-up', async () => {
    const waits = async () => (await store().findTwoStep('mem_1'))?.secret
    await store().startTwoStep({ ...own, secret: 'SEEN', at: AT })
    const change = { ...own, sessionId: 'ses_d', tokenHash: 'hash of ses_d' }
    expect(await store().changePassword({ ...change, oldHash: 'another', passwordHash: 'argon' })).toEqual(GONE)
    expect(await waits()).toBe('SEEN')
    expect(await store().changePassword({ ...change, oldHash: 'argon', passwordHash: 'argon 2' })).toEqual(DONE)
    expect([await waits(), await turnOn(AT)]).toEqual([undefined, OVER])
    await store().startTwoStep({ ...own, secret: 'SEEN AGAIN', at: AT })
    const made = link('forgets', 'password')
    await store().makePasswordLink({ actor: 'cli', accountId: null, at: AT, email: 'owner1@example.com', link: made })
    expect(await waits()).toBe('SEEN AGAIN')
    await store().setPasswordByLink({ tokenHash: 'forgets', passwordHash: 'argon', at: AT })
    expect(await waits()).toBeUndefined()
  })

  test('turning it off or removing the member deletes its codes', async () => {
    await store().startTwoStep({ ...own, secret: 'FIFTH', at: AT })
    expect(await turnOn(AT)).toEqual(DONE)
    expect(await store().turnOffTwoStep(own)).toEqual(DONE)
    expect([await store().findTwoStep('mem_1'), await store().turnOffTwoStep(own)]).toEqual([null, DONE])
    await store().startTwoStep({ ...own, secret: 'SIXTH', at: AT })
    expect([await turnOn(AT), await left()]).toEqual([DONE, 2])
    const eve = { id: 'mem_eve', membershipId: 'in_eve', email: 'eve@example.com', role: 'owner' as const }
    await store().inviteMember({ ...by, member: eve, link: link('eve') })
    await store().setPasswordByLink({ tokenHash: 'eve', passwordHash: 'argon', at: AT })
    expect(await store().removeMember({ ...by, actor: 'mem_eve', membershipId: 'own_1' })).toEqual(DONE)
    expect(await store().findTwoStep('mem_1')).toBeNull()
  })
}
