import { expect, test } from 'bun:test'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { type Backup, createBackupReads, createBackupWrites } from '../../src/store/backups.ts'
import { useFolder } from './databases.ts'

const folder = useFolder()

const backup = (startedAt: number, more: Partial<Backup> = {}): Backup => ({
  kind: 'scheduled',
  place: `/x/b/${startedAt}.db`,
  startedAt,
  finishedAt: startedAt + 5,
  bytes: 4096,
  error: null,
  ...more,
})
const open = () => {
  const db = createSqliteSql(folder.open())
  const { recordBackup } = createBackupWrites(db)
  const record = (one: Backup, removedPlaces: string[] = []) => recordBackup({ ...one, removedPlaces })
  return { ...createBackupReads(db), record }
}

test('finds the last good and the last failed backup, and lists the newest first', async () => {
  const { record, findLastGoodBackup, findLastFailedBackup, listBackups } = open()
  expect([await findLastGoodBackup(false), await findLastFailedBackup()]).toEqual([null, null])
  const [manual, failed, good] = [backup(1, { kind: 'manual' }), backup(2, { bytes: 0, error: 'full' }), backup(3)]
  for (const one of [manual, failed, good]) await record(one)
  expect(await findLastGoodBackup(true)).toEqual(good)
  expect(await findLastFailedBackup()).toEqual(failed)
  expect(await listBackups(2)).toEqual([good, failed])
})

test('with scheduled backups, a manual one or one in a former place is not the last good one', async () => {
  const { record, findLastGoodBackup, findLastFailedBackup } = open()
  const [former, good] = [backup(1, { place: '/x/b2/1.db' }), backup(2)]
  const failed = backup(3, { bytes: 0, error: 'full' })
  const manual = backup(4, { kind: 'manual' })
  for (const one of [former, good, failed, manual]) await record(one)
  expect(await findLastGoodBackup(true)).toEqual(good)
  expect(await findLastGoodBackup(false)).toEqual(manual)
  await record(backup(5, { place: '/x/b2/5.db', bytes: 0, error: 'full' }))
  expect(await findLastGoodBackup(true)).toEqual(former)
  await record(backup(6, { place: 's3://bucket/b/6.db', bytes: 0, error: 'full' }))
  expect(await findLastGoodBackup(true)).toBe(null)
  await record(backup(7, { kind: 'manual', bytes: 0, error: 'no such folder' }))
  expect(await findLastFailedBackup()).toMatchObject({ startedAt: 6 })
})

test('forgets backups whose files were deleted', async () => {
  const { record, listBackups } = open()
  for (const at of [1, 2]) await record(backup(at))
  await record(backup(3), [backup(1).place])
  expect(await listBackups(9)).toEqual([backup(3), backup(2)])
})

test('many failures do not push out the last good backup', async () => {
  const { record, findLastGoodBackup, listBackups } = open()
  await record(backup(1))
  for (let at = 2; at < 152; at += 1) await record(backup(at, { bytes: 0, error: 'full' }))
  expect(await findLastGoodBackup(true)).toEqual(backup(1))
  expect(await listBackups(999)).toHaveLength(101)
})
