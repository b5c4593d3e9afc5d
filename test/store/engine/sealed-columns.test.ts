import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSmtpUrl } from '../../../src/core/mail-addresses.ts'
import { databasePath, openDatabase } from '../../../src/store/engine/database.ts'
import { changeMasterKey } from '../../../src/store/engine/sealed-columns.ts'
import { createSealer, SEALED_PREFIX } from '../../../src/store/engine/sealing.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { AT, BY, done, makeMigratedFolder, newAccount } from '../samples.ts'

const KEY = 'the first key that is long enough'
const OTHER = 'another key that is long enough too'
const SECRET = 'the-identity-secret-of-an-account'
const NEXT = 'the-identity-secret-that-comes-next'
const MAIL = {
  smtpUrl: 'smtp://user:the-smtp-password@mail.example.com:587',
  dkimKey: 'the-dkim-key',
  bounceSecret: 'the-bounce-secret',
}
const TWO_STEP = 'THESECRETOFAPHONE234567'
const SECRETS = [SECRET, NEXT, 'the-smtp-password', MAIL.dkimKey, MAIL.bounceSecret, TWO_STEP]

let folder = ''
let remove = (): void => {}
beforeEach(async () => ({ folder, remove } = await makeMigratedFolder()))
afterEach(() => remove())

/** Opens, works and closes. */
async function using<T>(masterKey: string | null, threads: boolean, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(folder, { threads, masterKey, rules: STORE_RULES })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function fill(store: Store): Promise<void> {
  done(await store.createAccount(newAccount(1, { secret: { id: 'sec_1', secret: SECRET } })))
  done(await store.rotateSecret({ ...BY, secret: { id: 'sec_2', secret: NEXT }, replaces: null }))
  done(await store.setMailSettings({ ...BY, appId: 1, settings: { ...MAIL, fromName: 'Demo' } }))
  done(await store.startTwoStep({ memberId: 'mem_1', secret: TWO_STEP, at: AT }))
}

/** Which of the secrets the database and its log hold as they are. */
function found(): string[] {
  const files = ['', '-wal'].map((end) => databasePath(folder) + end).filter((path) => existsSync(path))
  const bytes = Buffer.concat(files.map((path) => readFileSync(path)))
  return SECRETS.filter((secret) => bytes.includes(secret))
}

const readAll = async (store: Store) => ({
  secrets: (await store.listSecrets('acc_1', 0)).map(({ secret }) => secret).sort(),
  ofSite: (await store.findSite('site_1', 0))?.secrets.map(({ secret }) => secret).sort(),
  mail: await store.mailSettings(1),
  servers: await store.listSmtpUrls(),
  twoStep: (await store.findTwoStep('mem_1'))?.secret,
})
const ALL = {
  secrets: [SECRET, NEXT].sort(),
  ofSite: [SECRET, NEXT].sort(),
  mail: expect.objectContaining({ ...MAIL, fromName: 'Demo' }),
  servers: [MAIL.smtpUrl],
  twoStep: TWO_STEP,
}

const run = (text: string): void => {
  const db = openDatabase(folder)
  db.run(text)
  db.close()
}

describe.each([false, true])('with a master key, threads: %p', (threads) => {
  test('no secret is readable in the files of a new database, and each reads back', async () => {
    folder = join(folder, 'new')
    await using(KEY, threads, async (store) => {
      await fill(store)
      expect(found()).toEqual([])
      expect(await readAll(store)).toEqual(ALL)
    })
    expect(found()).toEqual([])
    expect(await using(KEY, false, readAll)).toEqual(ALL)
  })

  test('an unsealed database is sealed at the first start', async () => {
    await using(null, false, fill)
    expect(found()).toEqual(SECRETS)
    await using(KEY, threads, async (store) => {
      expect(found()).toEqual([])
      expect(await readAll(store)).toEqual(ALL)
    })
    expect(found()).toEqual([])
    expect(await using(KEY, false, readAll)).toEqual(ALL)
  })

  test('without the key or with another, nothing opens and nothing changes', async () => {
    await using(KEY, false, fill)
    const before = readFileSync(databasePath(folder))
    await expect(openStore(folder, { threads, rules: STORE_RULES })).rejects.toMatchObject({
      code: 'sealed',
      message:
        'The secrets in this database are encrypted. Set EVENTPOST_MASTER_KEY to the key they were encrypted with.',
    })
    await expect(openStore(folder, { threads, masterKey: OTHER, rules: STORE_RULES })).rejects.toMatchObject({
      code: 'sealed',
      message: expect.stringContaining('encrypted with a different key'),
    })
    expect(readFileSync(databasePath(folder)).equals(before)).toBe(true)
    expect(await using(KEY, false, readAll)).toEqual(ALL)
  })
})

describe('another master key', () => {
  test('opens everything after the change, and the old key nothing', async () => {
    await using(KEY, false, fill)
    expect(await changeMasterKey(folder, createSealer(KEY), createSealer(OTHER))).toBe(SECRETS.length)
    await expect(openStore(folder, { threads: false, masterKey: KEY, rules: STORE_RULES })).rejects.toMatchObject({
      code: 'sealed',
    })
    await using(OTHER, false, async (store) => {
      expect(await readAll(store)).toEqual(ALL)
    })
    expect(found()).toEqual([])
  })

  test('removing it leaves every secret readable without a key', async () => {
    await using(KEY, false, fill)
    expect(await changeMasterKey(folder, createSealer(KEY), createSealer(null))).toBe(SECRETS.length)
    expect(await using(null, false, readAll)).toEqual(ALL)
    expect(found()).toEqual(SECRETS)
    // and a key can be set again
    expect(await using(OTHER, false, readAll)).toEqual(ALL)
    expect(found()).toEqual([])
  })

  test('changes nothing if the current key is wrong or a value was tampered with', async () => {
    await using(KEY, false, fill)
    const change = (from: string) => () => changeMasterKey(folder, createSealer(from), createSealer(OTHER))
    await expect(change('a wrong key that is long enough, too')()).rejects.toThrow('encrypted with a different key')
    run(`UPDATE two_steps SET secret = '${SEALED_PREFIX}AAAA'`)
    await expect(change(KEY)()).rejects.toThrow('encrypted with a different key')
    await using(KEY, false, async (store) => expect((await store.mailSettings(1)).dkimKey).toBe(MAIL.dkimKey))
  })
})

describe('a sealed value', () => {
  test('the key is checked before there is a secret', async () => {
    folder = join(folder, 'new')
    await using(KEY, false, async () => {})
    await expect(openStore(folder, { threads: false, rules: STORE_RULES })).rejects.toMatchObject({ code: 'sealed' })
    await expect(openStore(folder, { threads: false, masterKey: OTHER, rules: STORE_RULES })).rejects.toMatchObject({
      code: 'sealed',
    })
  })

  test('does not open in another row', async () => {
    await using(KEY, false, fill)
    run(`UPDATE identity_secrets SET secret = (SELECT secret FROM identity_secrets WHERE id = 'sec_1')`)
    await using(KEY, false, async (store) => {
      await expect(store.listSecrets('acc_1', 0)).rejects.toMatchObject({ code: 'sealed' })
    })
  })

  test('a value inserted unsealed is sealed at the next start', async () => {
    await using(KEY, false, fill)
    run(`UPDATE identity_secrets SET secret = '${SECRET}' WHERE id = 'sec_1'`)
    expect(found()).toEqual([SECRET])
    await using(KEY, false, async (store) => expect(await readAll(store)).toEqual(ALL))
    expect(found()).toEqual([])
  })

  test('an unset value stays unset, and a cleared one is cleared', async () => {
    await using(KEY, false, async (store) => {
      await fill(store)
      done(await store.setMailSettings({ ...BY, at: AT, appId: 1, settings: { smtpUrl: null } }))
      const { smtpUrl, dkimKey, dkimDomain } = await store.mailSettings(1)
      expect([smtpUrl, dkimKey, dkimDomain]).toEqual([null, MAIL.dkimKey, null])
    })
  })

  test('has a prefix that no mail server address has', () => {
    expect(readSmtpUrl(`${SEALED_PREFIX}mail.example.com`)).toBeNull()
    expect(readSmtpUrl(`${SEALED_PREFIX}//user:password@mail.example.com:587`)).toBeNull()
  })
})
