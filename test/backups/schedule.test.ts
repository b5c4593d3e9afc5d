import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { download, isBackupName, listSurplus, nameOf, openPlace } from '../../src/backups/places.ts'
import { type BackupSettings, createBackups, isDue } from '../../src/backups/schedule.ts'
import { restore } from '../../src/cli/backups.ts'
import { readArguments } from '../../src/cli/command.ts'
import type { S3Access } from '../../src/core/backup-places.ts'
import { restoreDatabase } from '../../src/store/restores.ts'
import { createTestServer, DAY, HOUR, NOW, type TestServer } from '../helper.ts'
import { makeFolder } from '../store/samples.ts'
import { BUCKET, startStorage } from './storage.ts'

/** Nothing is written next to an existing folder, where the user of the server may not write. */
async function restoreFrom(place: string, { endpoint, region, accessKey, secretKey }: S3Access): Promise<void> {
  const to = makeFolder()
  const data = join(to.folder, 'data')
  mkdirSync(data)
  const inTheWay = `${data}.${process.pid}.download`
  mkdirSync(inTheWay)
  await restore.run(readArguments(restore, [place, '--data', data]), {
    EVENTPOST_S3_ENDPOINT: endpoint ?? undefined,
    EVENTPOST_S3_REGION: region,
    EVENTPOST_S3_ACCESS_KEY: accessKey,
    EVENTPOST_S3_SECRET_KEY: secretKey,
  })
  expect(readdirSync(data).toSorted()).toEqual(['eventpost.db', 'serve.lock'])
  to.remove()
}

describe('rules', () => {
  test('a backup is due an interval after the last good one, whichever way the clock was set', () => {
    expect(isDue(undefined, NOW, DAY)).toBe(true)
    const last = { startedAt: NOW }
    for (const [now, due] of [
      [NOW + DAY - 1, false],
      [NOW + DAY, true],
      [NOW - HOUR, false],
      [NOW - DAY, true],
    ] as const) {
      expect(isDue(last, now, DAY)).toBe(due)
    }
  })

  test('the oldest are deleted, but never the new one', () => {
    const names = [1, 3, 2, 4].map((day) => nameOf(NOW + day * DAY))
    const [first = '', third = '', second = '', fourth = ''] = names
    expect(listSurplus(names, fourth, 2)).toEqual([second, first])
    // made while the clock was wrong
    expect(listSurplus(names, first, 2)).toEqual([third, second])
    expect(listSurplus(names, fourth, 1)).toEqual([third, second, first])
  })

  test('backups made while the clock was ahead give way to later ones', () => {
    let names = [1, 2, 3].map((day) => nameOf(NOW + 365 * DAY + day * DAY))
    for (let day = 0; day < 5; day += 1) {
      const made = nameOf(NOW + day * DAY)
      const surplus = listSurplus([...names, made], made, 3)
      names = [...names, made].filter((name) => !surplus.includes(name))
    }
    expect(names).toEqual([2, 3, 4].map((day) => nameOf(NOW + day * DAY)))
  })

  test('only names of backups are backups', () => {
    expect(nameOf(Date.UTC(2026, 4, 3, 14, 5, 9))).toBe('eventpost-20260503T140509Z.db')
    expect(['eventpost.db', 'eventpost-20260503T140509Z.db.1.tmp', 'x-20260503T140509Z.db'].some(isBackupName)).toBe(
      false,
    )
    expect(isBackupName(nameOf(NOW))).toBe(true)
  })
})

describe('scheduled backups', () => {
  let server: TestServer
  let made: ReturnType<typeof makeFolder>
  let noted: string[]
  beforeEach(async () => {
    server = await createTestServer()
    made = makeFolder()
    noted = []
  })
  afterEach(async () => {
    await server.close()
    made.remove()
  })
  const start = (place: BackupSettings['place'], access: S3Access | null = null) =>
    createBackups({
      folder: server.folder,
      store: server.parts().store,
      clock: server.clock,
      settings: { place, access, everyMs: DAY, keep: 2 },
      note: (level, message, fields) => void noted.push(`${level} ${message} ${String(fields.reason ?? '')}`.trim()),
    })
  const list = () => server.parts().store.listBackups(10)
  const canRestore = (file: string) =>
    restoreDatabase(file, { folder: `${made.folder}/restored`, masterKey: null, at: NOW })

  test('are made in a folder once an interval, and the old ones deleted', async () => {
    const folder = `${made.folder}/backups`
    mkdirSync(folder)
    writeFileSync(`${folder}/mine.txt`, 'mine')
    const backups = start({ folder })
    const names = [0, 1, 2].map((day) => nameOf(NOW + day * DAY))
    // what a killed server left
    writeFileSync(`${folder}/${names[0]}.1.tmp`, 'half')
    for (const _ of names) {
      await backups.runIfDue()
      await backups.runIfDue()
      server.clock.tick(DAY)
    }
    expect(readdirSync(folder).sort()).toEqual([...names.slice(1), 'mine.txt'])
    expect(statSync(`${folder}/${names[2]}`).mode & 0o777).toBe(0o600)
    expect((await list()).map(({ kind, place, error }) => [kind, place, error])).toEqual(
      [names[2], names[1]].map((name) => ['scheduled', `${folder}/${name}`, null]),
    )
    expect(noted).toEqual(['info backup made', 'info backup made', 'info backup made'])
    await canRestore(`${folder}/${names[2]}`)
  })

  test('are tried again after ten minutes, and the old ones stay meanwhile', async () => {
    const folder = `${made.folder}/backups`
    mkdirSync(folder)
    const backups = start({ folder })
    await backups.runIfDue()
    server.clock.tick(DAY)
    const kept = readdirSync(folder)
    rmSync(folder, { recursive: true })
    for (let minute = 0; minute < 10; minute += 1) {
      await backups.runIfDue()
      server.clock.tick(60_000)
    }
    expect(kept).toHaveLength(1)
    const [failed, ...others] = await list()
    expect(failed).toMatchObject({
      error: expect.stringContaining('does not exist. Create the folder first'),
      bytes: 0,
    })
    expect(others).toHaveLength(1)
    expect(noted[1]).toStartWith('error a backup failed and will be retried')
    mkdirSync(folder)
    await backups.runIfDue()
    expect(readdirSync(folder)).toHaveLength(1)
    expect(await server.parts().store.findLastGoodBackup(true)).toMatchObject({ startedAt: NOW + DAY + 600_000 })
  })

  test('are made once an interval, and the old ones stay, while nothing can be saved', async () => {
    const folder = `${made.folder}/backups`
    mkdirSync(folder)
    const old = nameOf(NOW - DAY)
    writeFileSync(`${folder}/${old}`, 'of yesterday')
    const { listBackups } = server.parts().store
    const backups = createBackups({
      folder: server.folder,
      // as on a full disk
      store: { listBackups, recordBackup: async () => ({ refusal: 'unavailable' }) },
      clock: server.clock,
      settings: { place: { folder }, access: null, everyMs: DAY, keep: 2 },
      note: () => {},
    })
    for (let minute = 0; minute < 5; minute += 1) {
      await backups.runIfDue()
      server.clock.tick(60_000)
    }
    expect(readdirSync(folder).sort()).toEqual([old, nameOf(NOW)])
  })

  test('are recorded, and the old ones deleted, once something can be saved', async () => {
    const folder = `${made.folder}/backups`
    mkdirSync(folder)
    for (const days of [1, 2]) writeFileSync(`${folder}/${nameOf(NOW - days * DAY)}`, 'old')
    const { listBackups, recordBackup } = server.parts().store
    let isFull = true
    const backups = createBackups({
      folder: server.folder,
      store: { listBackups, recordBackup: async (row) => (isFull ? { refusal: 'unavailable' } : recordBackup(row)) },
      clock: server.clock,
      settings: { place: { folder }, access: null, everyMs: DAY, keep: 2 },
      note: (level, message) => void noted.push(`${level} ${message}`),
    })
    for (let minute = 0; minute < 3; minute += 1) await backups.runIfDue()
    expect([readdirSync(folder).length, await list()]).toEqual([3, []])
    isFull = false
    await backups.runIfDue()
    expect(readdirSync(folder).sort()).toEqual([nameOf(NOW - DAY), nameOf(NOW)])
    expect(await list()).toMatchObject([{ startedAt: NOW, error: null }])
    expect(noted).toEqual(['info backup made', 'warn a backup could not be recorded, so old ones are not deleted'])
  })

  test('are tried again after 10, 20 and 40 minutes, and then every hour', async () => {
    const backups = start({ folder: `${made.folder}/none` })
    const tries = []
    for (let minute = 0; minute < 200; minute += 1) {
      await backups.runIfDue()
      if (noted.length > tries.length) tries.push(minute)
      server.clock.tick(60_000)
    }
    expect(tries).toEqual([0, 10, 30, 70, 130, 190])
  })

  test('give up storage that does not answer, and its draft', async () => {
    const storage = startStorage()
    storage.fault.isHanging = true
    const place = openPlace({ bucket: BUCKET, prefix: '' }, made.folder, storage.access, () => 1)
    writeFileSync(place.fileOf(nameOf(NOW)), 'draft')
    await expect(place.take(nameOf(NOW))).rejects.toThrow('The storage took longer than')
    await expect(place.list()).rejects.toThrow('The storage took longer than')
    expect(readdirSync(made.folder)).toEqual([])
    await storage.stop()
  })

  test('stay in the data folder, and in a folder of it that need not exist', async () => {
    for (const folder of [server.folder, `${server.folder}/backups`]) {
      const backups = start({ folder })
      const names = [server.clock.now(), server.clock.now() + DAY].map(nameOf)
      for (const _ of names) {
        await backups.runIfDue()
        server.clock.tick(DAY)
      }
      await backups.stop()
      expect(readdirSync(folder).filter(isBackupName).sort()).toEqual(names)
    }
  })

  test('are uploaded to a bucket, and nothing of them stays in the data folder', async () => {
    const storage = startStorage()
    try {
      const place = { bucket: BUCKET, prefix: 'eventpost/' }
      const backups = start(place, storage.access)
      const names = [0, 1, 2, 3].map((day) => nameOf(NOW + day * DAY))
      // a backup that was made in the data folder, and what a killed upload left there
      writeFileSync(`${server.folder}/${nameOf(NOW - DAY)}`, 'mine')
      writeFileSync(`${server.folder}/uploading-${names[0]}`, 'left')
      storage.objects.set('eventpost/notes.txt', new Uint8Array(1))
      storage.objects.set(`other/${names[0]}`, new Uint8Array(1))
      for (const _ of names) {
        await backups.runIfDue()
        server.clock.tick(DAY)
      }
      expect(noted.filter((line) => line !== 'info backup made')).toEqual([])
      const kept = names.slice(2).map((name) => `eventpost/${name}`)
      expect([...storage.objects.keys()].sort()).toEqual([...kept, 'eventpost/notes.txt', `other/${names[0]}`])
      expect((await list()).map(({ place: at }) => at)).toEqual(kept.map((key) => `s3://${BUCKET}/${key}`).reverse())
      const loaded = `${made.folder}/loaded.db`
      await download(`s3://${BUCKET}/${kept[1]}`, storage.access, loaded)
      await canRestore(loaded)
      await restoreFrom(`s3://${BUCKET}/${kept[1]}`, storage.access)
      const none = download(`s3://${BUCKET}/eventpost`, storage.access, loaded)
      await expect(none).rejects.toThrow(
        `The newest backups there: s3://${BUCKET}/${kept[1]}, s3://${BUCKET}/${kept[0]}`,
      )

      storage.objects.set('a', new Uint8Array(1))
      storage.objects.set(nameOf(NOW), new Uint8Array(1))
      const root = download(`s3://${BUCKET}`, storage.access, loaded)
      await expect(root).rejects.toThrow(
        `There is no file s3://${BUCKET}. The newest backups there: s3://${BUCKET}/${nameOf(NOW)}`,
      )

      storage.fault.status = 503
      await backups.runIfDue()
      expect(await server.parts().store.findLastFailedBackup()).toMatchObject({ startedAt: NOW + 4 * DAY })
      const wrong = start(place, { ...storage.access, secretKey: 'another' })
      storage.fault.status = 0
      await wrong.runIfDue()
      const { error = '' } = (await server.parts().store.findLastFailedBackup()) ?? {}
      expect(error).toContain('SignatureDoesNotMatch')
      expect(error).not.toContain('another')
      expect(readdirSync(server.folder).filter((name) => name.includes('eventpost-'))).toEqual([nameOf(NOW - DAY)])
    } finally {
      await storage.stop()
    }
  })

  test('in another place count for that place only', async () => {
    for (const name of ['b2', 'b']) {
      mkdirSync(`${made.folder}/${name}`)
      await start({ folder: `${made.folder}/${name}` }).runIfDue()
      expect(readdirSync(`${made.folder}/${name}`)).toEqual([nameOf(NOW)])
    }
    const row = { kind: 'scheduled', finishedAt: NOW, bytes: 1, error: null, removedPlaces: [] } as const
    const storage = startStorage()
    await server.parts().store.recordBackup({ ...row, place: `s3://${BUCKET}/other/${nameOf(NOW)}`, startedAt: NOW })
    await start({ bucket: BUCKET, prefix: '' }, storage.access).runIfDue()
    expect([...storage.objects.keys()]).toEqual([nameOf(NOW)])
    await storage.stop()
  })

  test('stop with the server', async () => {
    const folder = `${made.folder}/backups`
    mkdirSync(folder)
    const backups = start({ folder })
    const running = backups.runIfDue()
    await Promise.resolve()
    await backups.stop()
    await running
    await backups.runIfDue()
    expect(noted).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })
})
