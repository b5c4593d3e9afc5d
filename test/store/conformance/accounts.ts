import { expect, test } from 'bun:test'
import type { Plan } from '../../../src/store/types.ts'
import { AT, DAY, type Fresh, newAccount } from '../samples.ts'

const DONE = { done: true as const }
const change = { accountId: 'acc_1', actor: 'mem_1', at: AT + 100 }
const FREE: Plan = {
  newPeoplePerMonth: null,
  eventsPerHour: null,
  addsPerHour: null,
  updatesPerHour: null,
  mcpCallsPerMinute: null,
  snippetLimits: true,
}
const app = (number: number) => ({
  ...newAccount(number).app,
  id: number,
  accountId: `acc_${number}`,
  createdAt: AT + number,
  timezone: 'UTC',
  locale: 'en-US',
})
const firstKey = {
  id: 'key_1',
  accountId: 'acc_1',
  name: 'First key',
  scope: 'standard' as const,
  createdAt: AT + 1,
  lastUsedAt: null,
  revokedAt: null,
  seenInBrowserAt: null,
  ending: 'end1',
}

/** One account's life, in order. */
export function testAccounts(store: Fresh): void {
  test('a new database is empty', async () => {
    expect(await store().isSetUp()).toBe(false)
    expect(await store().findAccount(null)).toBeNull()
    expect(await store().findAccess('hash_1')).toBeNull()
  })

  test('the setup link creates the first account, once and until it expires', async () => {
    const link = (tokenHash: string) => ({ link: { tokenHash, purpose: 'setup' as const, expiresAt: AT + 10 }, at: AT })
    await store().makeSetupLink(link('old'))
    await store().makeSetupLink(link('token'))
    expect(await store().hasLink('old', 'setup', AT)).toBe(false)
    expect([await store().hasLink('token', 'setup', AT + 9), await store().hasLink('token', 'setup', AT + 10)]).toEqual(
      [true, false],
    )
    expect(await store().hasLink('token', 'password', AT)).toBe(false)
    const wanted = newAccount(1, { onlyFirst: true, setupToken: 'old' })
    expect(await store().createAccount(wanted)).toEqual({ refusal: 'not_found' })
    expect(await store().isSetUp()).toBe(false)
    expect(await store().createAccount({ ...wanted, setupToken: 'token' })).toEqual(DONE)
    expect(await store().isSetUp()).toBe(true)
    expect(await store().hasLink('token', 'setup', AT)).toBe(false)
  })

  test('a second account is refused when only the first is wanted', async () => {
    expect(await store().createAccount(newAccount(2, { onlyFirst: true }))).toEqual({ refusal: 'already_set_up' })
    await store().setMailSettings({
      ...change,
      appId: 1,
      settings: {
        fromEmail: 'a@first.example',
        otherFromEmails: ['b@other.example', 'c@first.example'],
      },
    })
    expect(await store().senderFacts('acc_1')).toEqual({ isOnlyAccount: true, domains: [] })
    expect(await store().createAccount(newAccount(2))).toEqual(DONE)
    const account = { id: 'acc_1', name: 'Account 1', plan: FREE }
    expect([await store().findAccount(null), await store().findAccount('acc_1')]).toEqual([account, account])
    expect((await store().findAccount('acc_2'))?.name).toBe('Account 2')
    expect(await store().findAccount('acc_3')).toBeNull()
    expect(await store().listAccounts()).toEqual([
      { id: 'acc_1', name: 'Account 1', createdAt: AT + 1 },
      { id: 'acc_2', name: 'Account 2', createdAt: AT + 2 },
    ])
  })

  test('the first account keeps its sender addresses when a second one is created', async () => {
    expect(await store().senderFacts('acc_1')).toEqual({
      isOnlyAccount: false,
      domains: ['first.example', 'other.example'],
    })
    expect(await store().senderFacts('acc_2')).toEqual({ isOnlyAccount: false, domains: [] })
  })

  test('a domain bound by the operator belongs to one account; one verified by DNS may belong to several', async () => {
    const [one, two] = [change, { ...change, accountId: 'acc_2' }]
    const holders = async () =>
      (await store().listSenderDomains()).flatMap(({ domain, accountId, proof }) =>
        domain === 'shared.example' ? [`${accountId} ${proof}`] : [],
      )
    const domain = 'shared.example'
    expect(await store().bindSenderDomain({ ...one, domain, proof: 'txt' })).toEqual(DONE)
    expect(await store().bindSenderDomain({ ...two, domain, proof: 'dkim' })).toEqual(DONE)
    expect((await holders()).toSorted()).toEqual(['acc_1 txt', 'acc_2 dkim'])
    expect(await store().bindSenderDomain({ ...two, domain, proof: 'operator' })).toEqual(DONE)
    expect(await holders()).toEqual(['acc_2 operator'])
    const changes = await store().listAudit({ accountId: 'acc_1', kind: 'changes', before: null, limit: 50 })
    expect(changes.map(({ action, subject }) => `${action} ${subject}`)).toContain(`sender_domain.unbind ${domain}`)
    expect(await store().unbindSenderDomain({ ...two, domain })).toEqual(DONE)
    expect(await holders()).toEqual([])
  })

  test('lists audit entries about people apart from others, and by how their actions begin', async () => {
    const exporting = { accountId: 'acc_1', actor: 'mem_1', at: AT + 900 }
    expect(await store().noteExport({ ...exporting, action: 'contact.export', subject: 'con_1' })).toEqual(DONE)
    expect(await store().noteExport({ ...exporting, action: 'data.export', subject: 'people' })).toEqual(DONE)
    const list = async (kind: 'all' | 'people' | 'changes', action?: string) => {
      const found = await store().listAudit({ accountId: 'acc_1', kind, action, before: null, limit: 100 })
      return found.map((entry) => entry.action)
    }
    expect(await list('people')).toEqual(['contact.export'])
    expect(await list('people', 'data.')).toEqual([])
    expect(await list('changes', 'data.')).toEqual(['data.export'])
    expect(await list('all', 'contact.')).toEqual(['contact.export'])
    const changes = await list('changes')
    expect(changes).not.toContain('contact.export')
    expect(changes).toContain('sender_domain.unbind')
  })

  test('lists all sender addresses with their apps', async () => {
    expect(await store().listSenders()).toMatchObject([
      {
        accountId: 'acc_1',
        appId: 1,
        hasOwnServer: false,
        emails: ['a@first.example', 'b@other.example', 'c@first.example'],
      },
    ])
  })

  test('an account can be renamed, also to the name of another', async () => {
    expect(await store().renameAccount({ ...change, name: 'Account 2' })).toEqual(DONE)
    expect((await store().listAccounts()).map(({ name }) => name)).toEqual(['Account 2', 'Account 2'])
    expect(await store().renameAccount({ ...change, name: 'Account 1' })).toEqual(DONE)
    expect((await store().listAccounts()).map(({ name }) => name)).toEqual(['Account 1', 'Account 2'])
  })

  test('apps have ascending IDs and belong to one account', async () => {
    const hosts = ['b.example.com', 'a.example.com', 'a.example.com']
    const third = { publicId: 'app_3', siteId: 'site_3', name: 'Third', homeUrl: 'https://b.example.com', hosts }
    expect(await store().createApp({ ...change, app: third })).toEqual(DONE)
    expect(await store().listApps('acc_1')).toEqual([
      app(1),
      { ...app(1), ...third, id: 3, createdAt: AT + 100, hosts: ['a.example.com', 'b.example.com'] },
    ])
    expect(await store().listApps('acc_2')).toEqual([app(2)])
  })

  test('a key works until it is revoked', async () => {
    const key = { id: 'key_b', name: 'First key', scope: 'ingest' as const, keyHash: 'hash_b', ending: 'endb' }
    expect(await store().createKey({ ...change, key, form: null })).toEqual(DONE)
    expect(await store().findAccess('hash_1')).toEqual({
      key: firstKey,
      plan: FREE,
      apps: await store().listApps('acc_1'),
    })
    expect((await store().findAccess('hash_b'))?.key.scope).toBe('ingest')
    expect(await store().revokeKey({ ...change, accountId: 'acc_2', keyId: 'key_b' })).toEqual({ refusal: 'not_found' })
    expect(await store().findAccess('hash_b')).not.toBeNull()
    expect(await store().revokeKey({ ...change, at: AT + 200, keyId: 'key_b' })).toEqual(DONE)
    expect(await store().revokeKey({ ...change, at: AT + 300, keyId: 'key_b' })).toEqual(DONE)
    expect(await store().findAccess('hash_b')).toBeNull()
    const keys = await store().listKeys('acc_1')
    expect(keys.map((row) => [row.id, row.revokedAt])).toEqual([
      ['key_b', AT + 200],
      ['key_1', null],
    ])
    expect(JSON.stringify(keys)).not.toContain('hash')
  })

  test('records when keys are used', async () => {
    await store().noteKeyUse([{ keyId: 'key_1', lastUsedAt: AT + 1, seenInBrowserAt: AT + 2 }])
    await store().noteKeyUse([{ keyId: 'key_1', lastUsedAt: AT + 3, seenInBrowserAt: null }])
    expect((await store().listKeys('acc_1'))[1]).toEqual({ ...firstKey, lastUsedAt: AT + 3, seenInBrowserAt: AT + 2 })
  })

  test('lists a rotated secret for the requested time', async () => {
    expect(await store().rotateSecret({ ...change, secret: { id: 'sec_b', secret: 'new' }, replaces: null })).toEqual(
      DONE,
    )
    const current = { id: 'sec_b', secret: 'new', createdAt: AT + 100, retiredAt: null }
    const previous = { id: 'sec_1', secret: 'secret_1', createdAt: AT + 1, retiredAt: AT + 100 }
    const listed = (at: number) => store().listSecrets('acc_1', at - DAY)
    expect(await listed(AT + 100 + DAY - 1)).toEqual([current, previous])
    expect(await listed(AT + 100 + DAY)).toEqual([current])
    expect((await store().listSecrets('acc_2', 0)).map((row) => row.secret)).toEqual(['secret_2'])
  })

  test('deletes a rotated secret a day after its 24 hours, never a current one', async () => {
    const listed = async () => (await store().listSecrets('acc_1', 0)).map((row) => row.id)
    await store().cleanUp({ at: AT + 100 + 2 * DAY - 1 })
    expect(await listed()).toEqual(['sec_b', 'sec_1'])
    await store().cleanUp({ at: AT + 100 + 2 * DAY })
    expect(await listed()).toEqual(['sec_b'])
    await store().cleanUp({ at: AT + 900 * DAY })
    expect([await listed(), (await store().listSecrets('acc_2', 0)).length]).toEqual([['sec_b'], 1])
  })

  test('a form submitted twice creates one key and replaces a secret once', async () => {
    const key = { id: 'key_c', name: 'Third', scope: 'standard' as const, keyHash: 'hash_c', ending: 'endc' }
    const create = (id: string, form: string | null) =>
      store().createKey({ ...change, key: { ...key, id, keyHash: id }, form })
    expect(await create('key_c', 'form')).toEqual(DONE)
    expect(await create('key_d', 'form')).toEqual({ refusal: 'already_done' })
    expect(await create('key_e', 'other form')).toEqual(DONE)
    expect((await store().listKeys('acc_1')).map((row) => row.id)).toEqual(['key_e', 'key_c', 'key_b', 'key_1'])
    const rotate = (id: string, accountId = 'acc_1') =>
      store().rotateSecret({ ...change, accountId, secret: { id, secret: id }, replaces: 'sec_b' })
    expect(await rotate('sec_x', 'acc_2')).toEqual({ refusal: 'already_done' })
    expect(await rotate('sec_c')).toEqual(DONE)
    expect(await rotate('sec_d')).toEqual({ refusal: 'already_done' })
    const listed = async (account: string) => (await store().listSecrets(account, 0)).map((row) => row.id).toSorted()
    expect(await listed('acc_1')).toEqual(['sec_b', 'sec_c'])
    expect(await store().revokeOldSecrets(change)).toEqual(DONE)
    expect([await listed('acc_1'), await listed('acc_2')]).toEqual([['sec_c'], ['sec_2']])
  })

  test('sets parts of a plan, for one account', async () => {
    await store().setPlan({ ...change, plan: { newPeoplePerMonth: 5, snippetLimits: false } })
    await store().setPlan({ ...change, plan: { eventsPerHour: 9 } })
    await store().setPlan({ ...change, plan: {} })
    const plan = { ...FREE, newPeoplePerMonth: 5, snippetLimits: false, eventsPerHour: 9 }
    expect((await store().findAccess('hash_1'))?.plan).toEqual(plan)
    await store().setPlan({ ...change, plan: { newPeoplePerMonth: null } })
    expect((await store().findAccount('acc_1'))?.plan).toEqual({ ...plan, newPeoplePerMonth: null })
    expect((await store().findAccount('acc_2'))?.plan).toEqual(FREE)
  })

  test('an owner link works once and until it expires', async () => {
    const link = (tokenHash: string) => ({ tokenHash, purpose: 'invite' as const, expiresAt: AT + 10 })
    await store().createAccount(newAccount(4, { inviteLink: link('late') }))
    await store().createAccount(newAccount(5, { inviteLink: link('good') }))
    const use = (tokenHash: string, at: number) => store().setPasswordByLink({ tokenHash, passwordHash: 'argon', at })
    expect(await use('late', AT + 10)).toEqual({ refusal: 'not_found' })
    expect(await use('good', AT + 9)).toEqual(DONE)
    expect(await use('good', AT + 9)).toEqual({ refusal: 'not_found' })
    expect(await use('none', AT)).toEqual({ refusal: 'not_found' })
  })

  test('installation values keep their first setting', async () => {
    expect(await store().installValue('salt')).toBeNull()
    await store().keepInstallValue({ name: 'salt', value: 'one' })
    await store().keepInstallValue({ name: 'salt', value: 'two' })
    expect(await store().installValue('salt')).toBe('one')
  })

  test('everything is still there after a restart', async () => {
    await store.reopen()
    expect((await store().findAccess('hash_1'))?.apps.map((row) => row.publicId)).toEqual(['app_1', 'app_3'])
    expect(await store().installValue('salt')).toBe('one')
    expect(store().schemaVersion).toBeGreaterThan(0)
  })
}
