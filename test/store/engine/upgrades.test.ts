/** A database of an older version is kept, and brought to this one. */
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'
import { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { idAt } from '../../../src/core/ids.ts'
import { dedupeKeyOf } from '../../../src/messages/again.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { databasePath, openDatabase } from '../../../src/store/engine/database.ts'
import { createDeliveryReads } from '../../../src/store/deliveries.ts'
import { createMailSources } from '../../../src/store/mail-sources.ts'
import { createEngine } from '../../../src/store/engine/engine.ts'
import { isSameBody } from '../../../src/accounts/idempotency.ts'
import { createMessageReads } from '../../../src/store/messages.ts'
import { createOutcomeReads } from '../../../src/store/idempotency.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/engine/migrations/index.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import {
  listUpgradeCopies,
  removeOldCopies,
  schemaVersion,
  type UpgradeProgress,
} from '../../../src/store/engine/upgrades.ts'
import { useFolder } from '../databases.ts'
import { AT, eventWrite, idempotency, makeFolder } from '../samples.ts'

const databases = useFolder()
const { keep } = databases
let folder = ''
beforeEach(() => void (folder = databases.path()))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const pragma = (db: Database, name: string): unknown => db.query(`PRAGMA ${name}`).values()[0]?.[0]

function runScript(script: string, ...args: string[]) {
  return Bun.spawn([process.execPath, '-e', script, ...args], { stdout: 'pipe', stderr: 'pipe', stdin: 'pipe' })
}

test('versions of messages in an older database have no known writer', async () => {
  const old = databases.open(
    MIGRATIONS.slice(
      0,
      MIGRATIONS.findIndex((sql) => sql.includes('message_versions ADD COLUMN actor')),
    ),
  )
  old.run(`PRAGMA foreign_keys = OFF; INSERT INTO messages VALUES (1, 'acc_1', 1, 'M', 'draft', 1, 5, 5);
    INSERT INTO message_versions (message_id, version, content, created_at) VALUES (1, 1, '{}', 5)`)
  const { listVersions } = createMessageReads(createSqliteSql(databases.open()))
  expect(await listVersions(1, { before: null, limit: 9 })).toEqual([
    { version: 1, createdAt: 5, content: {}, actor: null },
  ] as never)
})

test('rows of an older database name their app, and so do those that come later', () => {
  const old = databases.open(
    MIGRATIONS.slice(
      0,
      MIGRATIONS.findIndex((sql) => sql.includes('message_versions ADD COLUMN app_id')),
    ),
  )
  old.run(`PRAGMA foreign_keys = OFF;
    INSERT INTO messages VALUES (1, 'acc_1', 5, 'M', 'live', 1, 5, 5), (2, 'acc_1', 6, 'M', 'live', 1, 5, 5);
    INSERT INTO message_versions (message_id, version, content, created_at) VALUES (1, 1, '{}', 5), (2, 1, '{}', 5);
    INSERT INTO message_schedules (id, app_id, message_id, trigger, since_at, filled_until) VALUES (3, 6, 2, '{}', 0, 0);
    INSERT INTO scheduled_people VALUES (3, 22, 9);
    INSERT INTO idempotency_records VALUES ('key', 'a', 'hash', '{}', 0, 1, 0), ('key', 'b', 'hash', '{}', 0, 1, 6);
    INSERT INTO contact_changes VALUES (99, 1, 1, NULL, '{}')`)
  const add = (db: Database, message: number): void =>
    void db.run(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
        VALUES (${message + 20}, ${message + 4}, 'p${message}@example.com', 'subscribed', 1, 2);
      UPDATE contacts SET first_name = 'Ada' WHERE id = ${message + 20};
      INSERT INTO deliveries (id, app_id, contact_id, message_id, version, state, triggered_at, planned_at, due_at, attempt,
        resent, by_hand, updated_at) VALUES (${message}, ${message + 4}, ${message + 20}, ${message}, 1, 'sent', 1, 1, 1, 1, 0, 0, 1);
      UPDATE deliveries SET delivered_at = 1, came_back_at = 1 WHERE id = ${message}`)
  add(old, 1)
  add(old, 2)
  old.run(`INSERT INTO compared_people VALUES (1, 21, 1, 0, 1, 1, NULL, NULL, NULL);
    INSERT INTO uncompared_people VALUES (22, 2);
    INSERT INTO expired_activity VALUES (22, 1, 1, NULL, NULL)`)
  const db = databases.open()
  db.run('PRAGMA foreign_keys = OFF')
  add(db, 3)
  db.run(`INSERT INTO compared_people (delivery_id, contact_id, message_id, is_held_back, is_first, decided_at, app_id)
    VALUES (3, 23, 3, 0, 1, 1, 7)`)
  const appsOf = (table: string, key: string): unknown =>
    db.query(`SELECT DISTINCT ${key}, app_id FROM ${table} ORDER BY 1`).values()
  const all = [
    [1, 5],
    [2, 6],
    [3, 7],
  ]
  expect(['message_days', 'message_reports'].map((table) => appsOf(table, 'message_id'))).toEqual([all, all])
  expect(appsOf('message_versions', 'message_id')).toEqual(all.slice(0, 2))
  expect(['message_comparisons', 'compared_people'].map((table) => appsOf(table, 'message_id'))).toEqual(
    Array(2).fill([
      [1, 5],
      [3, 7],
    ]),
  )
  // 99 is no person any more
  expect(appsOf('contact_changes', 'contact_id')).toEqual([
    [21, 5],
    [22, 6],
    [23, 7],
    [99, 0],
  ])
  expect(
    ['uncompared_people', 'expired_activity', 'scheduled_people'].map((name) => appsOf(name, 'contact_id')),
  ).toEqual(Array(3).fill([[22, 6]]))
  expect(db.query('SELECT * FROM idempotency_records').values()).toEqual([
    ['key', 'a', 'hash', '{}', 0, 1, 0],
    ['key', 'b', 'hash', '{}', 0, 1, 6],
  ])
})

describe('an older schema', () => {
  const two = [...MIGRATIONS, 'CREATE TABLE extra (a TEXT) STRICT; INSERT INTO extra VALUES (1);']
  const version = SCHEMA_VERSION + 1
  const backup = (): string => `${databasePath(folder)}.before-${version}`

  beforeEach(() => {
    const db = databases.open()
    db.run(`INSERT INTO install (name, value) VALUES ('old', 'kept')`)
    db.close()
  })
  const oldValue = (db: Database) => db.query(`SELECT value FROM install WHERE name = 'old'`).values()

  test('is upgraded, and a complete copy is kept', () => {
    const db = keep(openDatabase(folder, two))
    expect([schemaVersion(db), oldValue(db), db.query('SELECT a FROM extra').values()]).toEqual([
      version,
      [['kept']],
      [['1']],
    ])
    expect(modeOf(backup())).toBe('600')
    const copy = keep(new Database(backup()))
    expect([schemaVersion(copy), oldValue(copy), pragma(copy, 'integrity_check')]).toEqual([
      SCHEMA_VERSION,
      [['kept']],
      'ok',
    ])
    expect(readdirSync(folder).filter((file) => file.endsWith('.copy'))).toEqual([])
  })

  test('reports its steps, with the file whose size shows the progress', () => {
    const steps: UpgradeProgress[] = []
    keep(openDatabase(folder, two, (step) => steps.push(step)))
    const path = databasePath(folder)
    const common = { from: SCHEMA_VERSION, to: version }
    expect(steps).toEqual([
      { ...common, phase: 'copying', file: `${path}.${process.pid}.copy`, bytes: expect.any(Number) },
      { ...common, phase: 'migrating', file: `${path}-wal`, version },
      { ...common, phase: 'done', copy: backup() },
    ])
    const bytes = steps[0]?.phase === 'copying' ? steps[0].bytes : 0
    expect(bytes / statSync(backup()).size).toBeCloseTo(1, 1)
  })

  test('is refused by an older executable, which names the copy to go back to, or none', () => {
    openDatabase(folder, [...two, 'CREATE TABLE more (a TEXT) STRICT']).close()
    const path = databasePath(folder)
    const refused = (migrations: readonly string[]): string => {
      try {
        openDatabase(folder, migrations).close()
        return ''
      } catch (error) {
        return (error as Error).message
      }
    }
    const named = `or go back to the copy from ${new Date(statSync(backup()).mtimeMs).toISOString().slice(0, 16)}Z: move ${path}, ${path}-wal and ${path}-shm away, then run: eventpost restore ${backup()} --data ${folder}`
    const newer = (most: number): string =>
      `${path} has schema version ${version + 1}; this executable supports versions up to ${most}. Use a newer executable, `
    expect(refused(MIGRATIONS)).toBe(newer(SCHEMA_VERSION) + named)
    // it upgrades the copy itself
    expect(refused(two)).toBe(newer(version) + named)
    const older = MIGRATIONS.slice(0, -1)
    expect(refused(older)).toBe(`${newer(older.length)}or restore a backup that was made before the upgrade.`)
  })

  test('says how much space it needs if the disk is full, and removes its copy', () => {
    const message = (): string => {
      try {
        openDatabase(folder, [...MIGRATIONS, 'PRAGMA max_page_count = 1; CREATE TABLE extra (a TEXT) STRICT']).close()
        return ''
      } catch (error) {
        return `${(error as { code?: string }).code}: ${(error as Error).message}`
      }
    }
    expect(message()).toMatch(
      /^disk_full: The disk filled up while .+eventpost\.db was being upgraded\. Make sure that .+ [MK]B is free.+ Nothing was changed\.$/,
    )
    expect(listUpgradeCopies(folder)).toEqual([])
  })

  test('has a copy for a week', async () => {
    openDatabase(folder, two).close()
    const other = `${databasePath(folder)}.before-7`
    writeFileSync(other, '')
    const kept = `${databasePath(folder)}.before-mine`
    writeFileSync(kept, '')
    const draft = `${databasePath(folder)}.4711.copy`
    writeFileSync(draft, '')
    const WEEK_MS = 7 * 86_400_000
    const { mtimeMs } = statSync(backup())
    utimesSync(draft, new Date(mtimeMs), new Date(mtimeMs - 1_000))
    utimesSync(other, new Date(mtimeMs), new Date(mtimeMs - 1_000))
    utimesSync(kept, new Date(0), new Date(0))
    expect(listUpgradeCopies(folder).map(({ file, schemaVersion }) => [file, schemaVersion])).toEqual([
      [other, 6],
      [backup(), SCHEMA_VERSION],
    ])
    expect(await removeOldCopies(folder, mtimeMs + WEEK_MS - 1)).toEqual([other, draft])
    expect([other, draft, backup()].map((file) => existsSync(file))).toEqual([false, false, true])
    expect(await removeOldCopies(folder, mtimeMs + WEEK_MS)).toEqual([backup()])
    expect(readdirSync(folder).sort()).toEqual(['eventpost.db', 'eventpost.db.before-mine'])
  })

  test('gets its events counted by day', () => {
    const daily = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE daily_rollups'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, daily))
    for (const [name, hour] of [
      [1, 47],
      [1, 48],
      [1, 71],
      [2, 48],
    ]) {
      old.run('INSERT INTO rollups VALUES (1, ?, ?, 5, 1, 2)', [name ?? 0, hour ?? 0])
    }
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT app_id, day, name_id, count FROM daily_rollups').values()).toEqual([
      [1, 1, 1, 5],
      [1, 2, 1, 10],
      [1, 2, 2, 5],
    ])
    db.close()
    other.remove()
  })

  test('keeps the people counted by day, also those who are not indexed yet', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('VIEW people_by_day'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    const contact = `INSERT INTO contacts (id, app_id, email, status, created_at, updated_at) VALUES (?, 1, ?, 'subscribed', ?, 0)`
    for (const id of [1, 2, 3, 4]) old.run(contact, [id, `p${id}@example.com`, id < 3 ? 0 : 86_400_000])
    old.run(`UPDATE contact_index_progress SET done_until = 3 WHERE part = 'seen'`)
    old.close()
    const db = openDatabase(other.folder)
    const count = (table: string) =>
      db.query(`SELECT day, sum(people) FROM ${table} WHERE app_id = 1 GROUP BY day ORDER BY day`).values()
    expect([count('people_days'), count('people_by_day')]).toEqual([
      [
        [0, 2],
        [1, 1],
      ],
      [
        [0, 2],
        [1, 2],
      ],
    ])
    db.run('DELETE FROM contacts WHERE id IN (1, 4)')
    expect(count('people_by_day')).toEqual([
      [0, 1],
      [1, 1],
    ])
    db.close()
    other.remove()
  })

  test.each([
    ['keeps its key of address hashes', 'k', /^k$/],
    ['gets a key of address hashes if it has none', null, /^[0-9a-f]{64}$/],
  ])('%s', (_, stored, expected) => {
    const before = MIGRATIONS.findIndex((text) => text.includes(`('suppression_key'`))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    if (stored !== null) old.run(`INSERT INTO install (name, value) VALUES ('suppression_key', ?)`, [stored])
    old.close()
    const db = openDatabase(other.folder)
    const keys = db.query(`SELECT value FROM install WHERE name = 'suppression_key'`).values()
    expect(keys).toEqual([[expect.stringMatching(expected)]])
    db.close()
    other.remove()
  })

  test('gets the addresses of suppressed people, but of nobody else', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('suppressions_by_email'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    const hashOf = (email: string): string =>
      new Bun.CryptoHasher('sha256', 'k').update(`1:${email}`).digest('base64url')
    old.run(`INSERT INTO install (name, value) VALUES ('suppression_key', 'k')`)
    const contact = `INSERT INTO contacts (app_id, email, status, created_at, updated_at) VALUES (1, ?, ?, 0, 0)`
    old.run(contact, ['ada@example.com', 'bounced'])
    old.run(contact, ['bob@example.com', 'subscribed'])
    const suppression = `INSERT INTO suppressions (app_id, email_hash, reason, created_at) VALUES (1, ?, 'bounced', ?)`
    old.run(suppression, [hashOf('ada@example.com'), 1])
    old.run(suppression, [hashOf('gone@example.com'), 2])
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT email FROM suppressions ORDER BY created_at').values()).toEqual([
      ['ada@example.com'],
      [null],
    ])
    db.close()
    other.remove()
  })

  test('keeps members in their accounts and working invitations, but no password links', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE memberships'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    old.run(
      `INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('acc_1', 'A', 1, 1), ('acc_2', 'B', 1, 2)`,
    )
    old.run(`INSERT INTO members (id, account_id, email, role, password_hash, created_at) VALUES
      ('mem_1', 'acc_1', 'ada', 'owner', 'argon', 3), ('mem_2', 'acc_1', 'eve', 'viewer', NULL, 4), ('mem_3', 'acc_2', 'zoe', 'editor', 'argon zoe', 5)`)
    old.run(`INSERT INTO one_time_links (token_hash, purpose, member_id, created_at, expires_at) VALUES
      ('forgotten', 'password', 'mem_1', 6, 7), ('invited', 'password', 'mem_2', 6, 7), ('setup', 'setup', NULL, 6, 7)`)
    old.run(`INSERT INTO sessions VALUES ('token', 'ses_1', 'mem_1', 'Firefox', 6, 6, 6)`)
    old.close()
    const db = openDatabase(other.folder)
    const all = (sql: string) => db.query(sql).values()
    expect(all('SELECT id, email, password_hash, created_at FROM members ORDER BY id')).toEqual([
      ['mem_1', 'ada', 'argon', 3],
      ['mem_2', 'eve', null, 4],
      ['mem_3', 'zoe', 'argon zoe', 5],
    ])
    expect(all('SELECT id, account_id, member_id, role, created_at, accepted_at FROM memberships ORDER BY 1')).toEqual([
      ['mem_1', 'acc_1', 'mem_1', 'owner', 3, 3],
      ['mem_2', 'acc_1', 'mem_2', 'viewer', 4, null],
      ['mem_3', 'acc_2', 'mem_3', 'editor', 5, 5],
    ])
    expect(all('SELECT token_hash, purpose, member_id, account_id FROM one_time_links ORDER BY 1')).toEqual([
      ['invited', 'invite', 'mem_2', 'acc_1'],
      ['setup', 'setup', null, null],
    ])
    expect(all('SELECT id, member_id FROM sessions')).toEqual([['ses_1', 'mem_1']])
    expect(all('PRAGMA foreign_key_check')).toEqual([])
    db.close()
    other.remove()
  })

  test('separates captured emails from sent ones', async () => {
    const before = MIGRATIONS.findIndex((text) => text.includes(`state = 'kept'`))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    for (const [id, state] of [
      [1, 'sent'],
      [2, 'sent'],
      [3, 'skipped'],
    ] as const)
      old.run(
        `INSERT INTO deliveries VALUES (?, 1, ?, 1, 1, NULL, '', ?, 1, 1, 1, 1, NULL, NULL, 5, 6, 0, 0, NULL, NULL, 7, 8, 9)`,
        [id, id, state],
      )
    old.run(`INSERT INTO captured_mails VALUES (2, 1, 'Subject: Kept', 5)`)
    old.close()
    const db = openDatabase(other.folder)
    const columns = 'id, state, handed_at, sent_at, came_back_at, opened_at'
    expect(db.query(`SELECT ${columns} FROM deliveries ORDER BY id`).values()).toEqual([
      [1, 'sent', 5, 6, 7, 8],
      [2, 'kept', 5, null, null, null],
      [3, 'skipped', 5, 6, 7, 8],
    ])
    expect(
      await createDeliveryReads(
        createSqliteSql(db),
        createMailSources(createSqliteSql(db), createSealer(null)),
      ).findCaptured(1, 2),
    ).toEqual({
      raw: 'Subject: Kept',
      createdAt: 5,
      content: null,
    })
    db.close()
    other.remove()
  })

  test('answers retries of requests with the old body hash, once', async () => {
    const before = MIGRATIONS.findIndex((text) => text.includes(`SET body_hash = ''`))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    old.run(`INSERT INTO idempotency_records VALUES ('key_1', 'once', 'old hash', '{"contactId":3}', 3, ${AT})`)
    old.close()
    const db = openDatabase(other.folder)
    const { run } = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
    const send = async (changes: Parameters<typeof idempotency>[0]) => {
      const input = eventWrite({ idempotency: idempotency({ at: AT + 1, ...changes }) })
      return (await run([{ name: 'recordEvent', input }]))[0]
    }
    expect(await send({ bodyHash: 'new hash' })).toEqual({ contactId: 3, replayed: true })
    expect(db.query('SELECT 1 FROM events').get()).toBeNull()
    const found = await createOutcomeReads(createSqliteSql(db), STORE_RULES).listOutcomes({
      keyId: 'key_1',
      key: 'once',
      at: AT + 1,
    })
    expect(found.map(({ bodyHash }) => isSameBody(bodyHash, 'new hash'))).toEqual([true])
    expect(await send({ key: 'other', bodyHash: 'first' })).toMatchObject({ created: true })
    expect(await send({ key: 'other', bodyHash: 'second' })).toEqual({ refusal: 'idempotency_mismatch' })
    db.close()
    other.remove()
  })

  test('lists sender addresses of messages, and binds each domain to the first account', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE sender_domains'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    old.run(`INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES
      ('acc_new', 'New', 1, 9), ('acc_old', 'Old', 1, 1), ('acc_none', 'None', 1, 2)`)
    for (const [id, account] of [
      [1, 'acc_new'],
      [2, 'acc_old'],
      [3, 'acc_none'],
    ] as const) {
      old.run(`INSERT INTO apps (id, account_id, public_id, site_id, name, created_at) VALUES (?, ?, ?, ?, 'A', 1)`, [
        id,
        account,
        `app_${id}`,
        `site_${id}`,
      ])
    }
    old.run(`INSERT INTO app_mail_settings (app_id, from_email, colour) VALUES (1, 'hi@Shared.example', '#000000')`)
    const write = (id: number, app: number, [version, current]: [number, number], fromEmail: string | null) => {
      old.run(`INSERT OR IGNORE INTO messages VALUES (?, 'acc_old', ?, ?, 'live', ?, 1, 1)`, [
        id,
        app,
        `M${id}`,
        current,
      ])
      const content = JSON.stringify({ mail: { subject: 'S', ...(fromEmail === null ? {} : { fromEmail }) } })
      old.run('INSERT INTO message_versions VALUES (?, ?, ?, 1)', [id, version, content])
    }
    write(1, 1, [1, 1], 'news@new.example')
    write(2, 2, [1, 3], 'gone@old.example')
    write(2, 2, [2, 3], 'waits@old.example')
    write(2, 2, [3, 3], 'Mail@shared.Example')
    write(3, 2, [1, 1], 'mail@shared.example')
    write(4, 3, [1, 1], null)
    write(5, 3, [1, 1], 'Hello@Bücher.example')
    write(6, 3, [1, 1], 'hello@xn--bcher-kva.example')
    write(7, 3, [1, 1], 'never@sent.example')
    old.run(`UPDATE messages SET status = 'draft' WHERE id = 7`)
    old.run(
      `INSERT INTO deliveries VALUES (7, 2, 1, 2, 2, NULL, '', 'waiting', 1, 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, 1)`,
    )
    old.close()
    const db = openDatabase(other.folder)
    const all = (sql: string) => db.query(sql).values()
    expect(all('SELECT app_id, from_email, other_from_emails, colour FROM app_mail_settings ORDER BY 1')).toEqual([
      [1, 'hi@Shared.example', '["news@new.example"]', '#000000'],
      [2, null, expect.any(String), null],
      [3, null, '["hello@xn--bcher-kva.example"]', null],
    ])
    const [[others] = []] = all('SELECT other_from_emails FROM app_mail_settings WHERE app_id = 2')
    expect(JSON.parse(String(others)).sort()).toEqual(['mail@shared.example', 'waits@old.example'])
    expect(all('SELECT account_id, domain, proof FROM sender_domains ORDER BY domain')).toEqual([
      ['acc_new', 'new.example', 'existing'],
      ['acc_old', 'old.example', 'existing'],
      ['acc_old', 'shared.example', 'existing'],
      ['acc_none', 'xn--bcher-kva.example', 'existing'],
    ])
    expect(all('PRAGMA foreign_key_check')).toEqual([])
    db.close()
    other.remove()
  })

  test('counts emails about one page under any spelling of its url', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('`once` by `url`'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    const keyOf = (text: string) => Bun.SHA256.hash(JSON.stringify(text), 'base64url').slice(0, 22)
    // the url of each event, and what the key of its email was made of then
    const urls: [url: string, page: string][] = [
      ['https://first.example/r/1/?utm=a#top', 'https://first.example/r/1/'],
      ['HTTPS://First.example/r/2', 'HTTPS://First.example/r/2'],
      ['https://first.example', 'https://first.example'],
      ['https://first.example/r/3', 'https://first.example/r/3'],
      ['https://first.example/r/3/', 'https://first.example/r/3/'],
      ['https://first.example/r/4/', 'another property'],
    ]
    const event = old.query(`INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at, properties)
      VALUES (?, 1, 1, 1, 0, 0, 1, ?)`)
    const delivery =
      old.query(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
      triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at)
      VALUES (?1, 1, 1, 1, 1, ?1, ?2, 'sent', 1, 1, 1, 1, 0, 0, 1)`)
    for (const [index, [url, page]] of urls.entries()) {
      event.run(index + 1, JSON.stringify({ url }))
      delivery.run(index + 1, keyOf(page))
    }
    old.close()
    const db = openDatabase(other.folder)
    const today = (url: string) => dedupeKeyOf({ once: 'property', property: 'url' }, () => ({ url }))
    const keys = db.query<{ key: string }, []>('SELECT once_key AS key FROM deliveries ORDER BY id').all()
    expect(keys.map(({ key }) => key)).toEqual([
      today('https://first.example/r/1'),
      today('https://first.example/r/2'),
      today('https://first.example/'),
      today('https://first.example/r/3'),
      // its key is in use
      keyOf('https://first.example/r/3/'),
      keyOf('another property'),
    ])
    db.close()
    other.remove()
  })

  test('compares everyone who was assigned to a group, whatever became of the email', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE compared_people'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    old.run('PRAGMA foreign_keys = OFF')
    const DAY = 86_400_000
    const at = 20_500 * DAY
    for (const [id, holdback] of [
      [1, 10],
      [2, undefined],
    ] as const) {
      old.run(`INSERT INTO messages VALUES (?, 'acc_1', 1, ?, 'live', 1, 1, 1)`, [id, `M${id}`])
      old.run(`INSERT INTO message_versions (message_id, version, content, created_at) VALUES (?, 1, ?, 1)`, [
        id,
        JSON.stringify({ holdback }),
      ])
    }
    const verdict = (result: 'pass' | 'fail'): string =>
      JSON.stringify({ at, verdicts: [{ rule: 'holdback', about: '10', value: result === 'fail', verdict: result }] })
    const add = old.query(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state,
      triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, handed_at, held_back_at, compared_after,
      came_back_at, record) VALUES (?1, 1, ?2, ?3, 1, ?1, ?4, ?5, ?5, ?5, 1, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10)`)
    add.run(101, 1, 1, 'sent', at, at, null, -1, at + 5, verdict('pass'))
    // again, two days later
    add.run(102, 1, 1, 'sent', at + 2 * DAY, at + 2 * DAY, null, 20_500, null, verdict('pass'))
    add.run(103, 2, 1, 'skipped', at, null, at, -1, at + 5, verdict('fail'))
    // refused; they came back, the other one too late
    add.run(104, 3, 1, 'failed', at, null, null, null, null, verdict('pass'))
    add.run(105, 4, 1, 'failed', at, null, null, null, null, verdict('pass'))
    // never decided, and of a message without a holdback
    add.run(106, 5, 1, 'skipped', at, null, null, null, null, '{"at":1,"verdicts":[]}')
    add.run(107, 6, 2, 'sent', at, at, null, null, at, null)
    const view = old.query(`INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
      VALUES (?, 1, ?, 1, 1, 1, ?)`)
    view.run(201, 3, at + DAY)
    view.run(202, 4, at + 8 * DAY)
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT * FROM compared_people ORDER BY 1').values()).toEqual([
      [101, 1, 1, 0, 1, at, at + 5, null, null, 1],
      [103, 2, 1, 1, 1, at, at + 5, null, null, 1],
      [104, 3, 1, 0, 1, at, at + DAY, null, null, 1],
      [105, 4, 1, 0, 1, at, null, null, null, 1],
    ])
    expect(db.query('SELECT * FROM message_comparisons ORDER BY 1, 2, 3').values()).toEqual([
      [1, 20_500, 0, 1, 3, 2, 0, 0, 1],
      [1, 20_500, 1, 1, 1, 1, 0, 0, 1],
    ])
    db.close()
    other.remove()
  })

  test('counts emails by the day on which their trigger arrived', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('1767225600000 + NEW.id'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    const DAY = 86_400_000
    const arrivedAt = 20_600 * DAY
    const add = old.query(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, reason,
      triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, goal_at)
      VALUES (?1, 1, 1, 1, 1, ?1, ?2, ?3, ?4, 1, 1, 1, 0, 0, 1, ?5)`)
    add.run(idAt(arrivedAt), 'sent', null, arrivedAt - 2 * DAY, 1)
    add.run(idAt(arrivedAt + DAY) - 16, 'skipped', 'seen', arrivedAt, null)
    add.run(idAt(arrivedAt + DAY), 'sent', null, arrivedAt + DAY, null)
    expect(old.query('SELECT count(*) AS n FROM message_days WHERE day = 20598').get()).toEqual({ n: 1 })
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT day, outcome, emails, reached_goal FROM message_days ORDER BY 1, 2').values()).toEqual([
      [20_600, 'sent', 1, 1],
      [20_600, 'skipped', 1, 0],
      [20_601, 'sent', 1, 0],
    ])
    db.close()
    other.remove()
  })

  test('has what emails did for each person, by message, and counts them by their last day', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('people_results_emailed'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    const DAY = 86_400_000
    const add = old.query(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, reason,
      triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, handed_at, came_back_at)
      VALUES (?1, 1, ?2, ?8, 1, ?1, ?3, ?4, 1, 1, 1, 1, 0, 0, ?5, ?6, ?7)`)
    add.run(1, 7, 'sent', null, 0, 100 * DAY, 101 * DAY, 1)
    add.run(2, 7, 'bounced', null, 0, 103 * DAY, null, 2)
    add.run(3, 7, 'failed', 'smtp_550', 105 * DAY, null, null, 1)
    add.run(4, 7, 'skipped', 'seen', 104 * DAY, null, null, 1)
    add.run(5, 8, 'unknown', null, 0, 103 * DAY, null, 2)
    add.run(6, 9, 'kept', null, 0, 103 * DAY, null, 1)
    add.run(7, 10, 'skipped', 'seen', 104 * DAY, null, null, 1)
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT * FROM people_results ORDER BY 1, 2, 3').values()).toEqual([
      [1, 0, 7, 103 * DAY, 101 * DAY, 104 * DAY],
      [1, 0, 8, 103 * DAY, null, null],
      [1, 0, 10, null, null, 104 * DAY],
      [1, 1, 7, 100 * DAY, 101 * DAY, null],
      [1, 2, 7, 103 * DAY, null, null],
      [1, 2, 8, 103 * DAY, null, null],
    ])
    expect(db.query('SELECT * FROM people_result_days ORDER BY 1, 2, 3').values()).toEqual([
      [1, 0, 103, 2],
      [1, 1, 101, 1],
      [1, 2, 104, 2],
    ])
    db.close()
    other.remove()
  })

  test('leaves out whom it compared without a mail server, and notes what others did', () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE uncompared_people'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, before))
    old.run('PRAGMA foreign_keys = OFF')
    const DAY = 86_400_000
    const at = 20_600 * DAY
    for (const messageId of [1, 2]) {
      old.run(`INSERT INTO message_versions (message_id, version, content, created_at) VALUES (?, 1, ?, 1)`, [
        messageId,
        JSON.stringify({ holdback: 10, goal: { event: 'paid', days: 2 } }),
      ])
    }
    old.run(`INSERT INTO app_hosts (app_id, host) VALUES (1, 'first.example')`)
    for (const [id, name] of [
      [1, 'ready'],
      [2, 'paid'],
    ] as const)
      old.run('INSERT INTO event_names (id, app_id, name) VALUES (?, 1, ?)', [id, name])
    const person = old.query(`INSERT INTO compared_people VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)`)
    const delivery = old.query(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key,
      state, triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, handed_at, record, joined_to)
      VALUES (?1, ?2, ?3, ?4, 1, ?5, ?1, ?6, ?7, ?7, ?7, 1, 0, 0, ?7, ?8, ?9, ?10)`)
    const add = (
      id: number,
      contact: number,
      state: string,
      changes: { app?: number; message?: number; day?: number; keptAt?: number; event?: number } = {},
    ) => {
      const { app = 1, message = 1, day = 0, keptAt, event = null } = changes
      const when = at + day * DAY + id
      const handedAt = ['kept', 'sent'].includes(state) ? when : null
      delivery.run(
        id,
        app,
        contact,
        message,
        event,
        state,
        when,
        handedAt,
        JSON.stringify({ at: when, verdicts: [], keptAt }),
        null,
      )
      person.run(id, contact, message, Number(state === 'skipped'), 1, when)
    }
    // nothing sent before them, but a captured email follows
    add(101, 1, 'skipped')
    add(102, 2, 'kept')
    add(103, 3, 'skipped')
    add(104, 4, 'sent', { keptAt: at })
    add(105, 5, 'sent')
    add(106, 6, 'skipped')
    // of another app
    add(107, 7, 'skipped', { app: 2 })
    // another message decided about this person later
    add(108, 2, 'sent', { message: 2, day: 1 })
    old.run('UPDATE compared_people SET is_first = 0 WHERE delivery_id = 108')
    // failed: the result and the goal are on the timeline
    const event =
      old.query(`INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at, properties, path)
      VALUES (?, 1, ?, ?, ?, 0, ?, ?, ?)`)
    event.run(90, 8, 1, 0, at, '{"url":"https://www.first.example/r/1/"}', null)
    event.run(91, 8, 1, 0, at, '{"url":"https://first.example/r/2"}', null)
    event.run(92, 9, 1, 0, at, '{"url":"https://other.example/r/1"}', null)
    add(109, 8, 'failed', { event: 90 })
    delivery.run(110, 1, 8, 1, 91, 'failed', at, null, null, 109)
    add(111, 9, 'failed', { event: 92 })
    for (const [id, contact] of [
      [201, 8],
      [202, 9],
    ] as const) {
      event.run(id, contact, 1, 1, at + DAY, null, '/r/2')
      event.run(id + 10, contact, 1, 1, at + DAY + 1, null, '/r/1')
      event.run(id + 20, contact, 2, 0, at + (contact === 8 ? 1 : 3) * DAY, null, null)
    }
    // came back on day 0; sent again on day 9
    delivery.run(
      112,
      1,
      10,
      3,
      null,
      'sent',
      at,
      at + 9 * DAY,
      JSON.stringify({ at, verdicts: [], unconfirmedAt: at }),
      null,
    )
    old.run('UPDATE deliveries SET came_back_at = ? WHERE id = 112', [at + 5])
    old.run(`INSERT INTO people_results VALUES (10, 1, 20609, 20609, NULL)`)
    old.close()
    const db = openDatabase(other.folder, MIGRATIONS.slice(0, before + 1))
    expect(db.query('SELECT contact_id FROM uncompared_people ORDER BY 1').values().flat()).toEqual([1, 2, 3, 4])
    expect(
      db.query('SELECT delivery_id, is_first, opened_at, goal_at FROM compared_people ORDER BY 1').values(),
    ).toEqual([
      [105, 1, null, null],
      [106, 1, null, null],
      [107, 1, null, null],
      [108, 1, null, null],
      [109, 1, at + DAY, at + DAY],
      [111, 1, null, null],
    ])
    expect(db.query('SELECT * FROM message_comparisons ORDER BY 1, 2, 3').values()).toEqual([
      [1, 20_600, 0, 1, 3, 0, 1, 1],
      [1, 20_600, 1, 1, 2, 0, 0, 0],
      [2, 20_601, 0, 1, 1, 0, 0, 0],
    ])
    expect(db.query('SELECT * FROM people_results').values()).toEqual([[10, 1, 20_609, 20_600, null]])
    expect(db.query('SELECT day, people FROM people_result_days WHERE kind = 1 AND people > 0').values()).toEqual([
      [20_600, 1],
    ])
    db.close()
    other.remove()
  })

  test('has a copy that opens as a database', () => {
    openDatabase(folder, two).close()
    const other = join(folder, 'restored')
    mkdirSync(other)
    writeFileSync(databasePath(other), readFileSync(backup()))
    expect(oldValue(keep(openDatabase(other)))).toEqual([['kept']])
  })

  test('stays intact when a migration fails halfway, and earlier migrations stay', () => {
    const bad = [...two, 'CREATE TABLE more (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);']
    expect(() => openDatabase(folder, bad)).toThrow('no such table: nowhere')
    const db = keep(openDatabase(folder, two))
    const tables = db.query(`SELECT name FROM sqlite_schema WHERE name IN ('extra', 'more')`).values()
    expect([schemaVersion(db), tables, oldValue(db)]).toEqual([version, [['extra']], [['kept']]])
    expect(existsSync(backup())).toBe(true)
  })

  test('can be upgraded by three processes at once, with a copy of the old version', async () => {
    const source = join(import.meta.dir, '../../../src/store/engine/database.ts')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      for await (const _ of process.stdin) break
      openDatabase(process.argv[2], JSON.parse(process.argv[3]))`
    const children = [1, 2, 3].map(() => runScript(script, source, folder, JSON.stringify(two)))
    await Bun.sleep(60)
    for (const child of children) {
      void child.stdin.write('go')
      void child.stdin.end()
    }
    const ends = children.map(async (child) => [await child.exited, await new Response(child.stderr).text()])
    expect(await Promise.all(ends)).toEqual(ends.map(() => [0, '']))
    const db = keep(openDatabase(folder, two))
    expect([db.query('SELECT a FROM extra').values(), oldValue(db)]).toEqual([[['1']], [['kept']]])
    expect(schemaVersion(keep(new Database(backup())))).toBe(SCHEMA_VERSION)
  })

  test('is left alone if the executable has no newer schema', () => {
    openDatabase(folder).close()
    expect(readdirSync(folder)).toEqual(['eventpost.db'])
  })
})
