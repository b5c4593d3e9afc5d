/** Moves all data between a folder and PostgreSQL: one snapshot of the source, which nobody uses meanwhile. */
import type { Database } from 'bun:sqlite'
import { resolve } from 'node:path'
import { describeLocation, type PostgresLocation } from '../../core/data-location.ts'
import { truncateLog } from '../engine/checkpoints.ts'
import { hasDatabase, hasDatabaseFile, hasDraft, openDatabase, openMarked } from '../engine/database.ts'
import { StoreError } from '../engine/errors.ts'
import { type FolderLock, lockFolder } from '../engine/folder-lock.ts'
import { SCHEMA_VERSION } from '../engine/migrations/index.ts'
import { schemaVersion } from '../engine/upgrades.ts'
import { migrate } from '../postgres/migrations.ts'
import { findServerFault, readServerFacts } from '../postgres/server-facts.ts'
import { copyTables, type Copied, type Copying } from './copy.ts'
import { createFolderSource, findFirstEventTime, fingerprintFolder } from './folder-source.ts'
import { createFolderTarget, fillIndex, findDraftId, openDraft, removeDraft } from './folder-target.ts'
import { describeMark, describeOther, findMark, folderPlace, type Mark, MARK, undoCommand } from './mark.ts'
import { createPostgresSource, findServerMark, markServer, saveMark, unmarkServer } from './postgres-source.ts'
import { clearPostgresTarget, findTargetState, openPostgresTarget, refuseOther } from './postgres-target.ts'
import { atServer, connectForMove, findInstance, runOn, type Server } from './server.ts'
import { listTables } from './tables.ts'

export type Moving = Copying & { folder: string; server: PostgresLocation; at: number }

const sourceChanged = (mark: Mark, folder: string): StoreError =>
  new StoreError(
    'differs',
    `The data changed after the move began, so the copy can't be used. To start again, first undo the move: ${undoCommand(mark, folderPlace(folder))}`,
  )

/** From the folder. @throws StoreError; Stopped */
export async function moveToPostgres({ folder, server: location, at, ...copying }: Moving): Promise<Copied> {
  if (!hasDatabase(folder)) throw missing(folder)
  const server = await connectForMove(location, 1)
  const lock = lockFolder(folder)
  let isBegun = false
  try {
    return await atServer(location, async () => {
      await refuseUnfit(server, location)
      const state = await findTargetState(server)
      const mark = markFolder(folder, { to: describeLocation(location), at }, () => {
        if (state.kind !== 'empty') throw refuseOther(location)
      })
      isBegun = true
      if (mark.state === 'moved' && state.kind !== 'receiving')
        throw new StoreError('moved', describeMark(mark, folderPlace(folder)))
      if (state.kind === 'other' || (state.kind === 'receiving' && state.id !== mark.id)) throw refuseOther(location)
      const fingerprint = fingerprintFolder(folder)
      if (state.kind === 'receiving' && state.fingerprint !== fingerprint && mark.state === 'moving')
        throw sourceChanged(mark, folder)
      const db = openMarked(folder)
      const marker = openMarked(folder)
      const source = createFolderSource(db, fingerprint)
      try {
        const tables = listTables(db)
        const target = await openPostgresTarget(location, {
          id: mark.id,
          fingerprint,
          tables,
          firstAt: findFirstEventTime(db) ?? at,
          at,
        })
        try {
          const version = dataVersion(marker)
          const copied = await copyTables({ source, target, tables }, copying)
          marker
            .transaction(() => {
              if (dataVersion(marker) !== version) throw sourceChanged(mark, folder)
              writeMark(marker, { ...mark, state: 'moved', at })
            })
            .immediate()
          await target.release()
          return copied
        } finally {
          await target.close()
        }
      } finally {
        await source.close()
        marker.close()
      }
    })
  } finally {
    await server.close({ timeout: 0 })
    release(lock, isBegun)
  }
}

const dataVersion = (db: Database): number =>
  db.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version ?? 0

const missing = (folder: string): StoreError =>
  new StoreError(
    'missing',
    `There is no database in ${resolve(folder)}. Set --data to the folder that contains the database.`,
  )

async function refuseUnfit(server: Server, location: PostgresLocation): Promise<void> {
  const fault = findServerFault(await readServerFacts(runOn(server)), location)
  if (fault !== null) throw new StoreError('unreachable', `${describeLocation(location)} can't be used: ${fault}`)
}

const writeMark = (db: Database, mark: Mark): void =>
  void db.run(
    'INSERT INTO install (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [MARK, JSON.stringify(mark)],
  )

/** Upgrades the database and completes its indexes, then locks it out. The second time, it has its mark. */
function markFolder(folder: string, { to, at }: Pick<Mark, 'to' | 'at'>, beforeFirst: () => void): Mark {
  const there = peekMark(folder)
  if (there !== null) {
    if (there.to === to) return there
    throw new StoreError('moved', describeOther(there, folderPlace(folder)))
  }
  beforeFirst()
  const db = openDatabase(folder)
  try {
    fillIndex(db)
    const mark: Mark = { id: crypto.randomUUID(), state: 'moving', to, at }
    writeMark(db, mark)
    truncateLog(db)
    return mark
  } finally {
    db.close()
  }
}

function peekMark(folder: string): Mark | null {
  const db = openMarked(folder)
  try {
    const mark = findMark(db)
    if (mark !== null && schemaVersion(db) !== SCHEMA_VERSION)
      throw new StoreError(
        'newer_schema',
        'This move was started with a different version of Eventpost. Finish it with that version.',
      )
    return mark
  } finally {
    db.close()
  }
}

/** A refused move leaves nothing behind. */
const release = (lock: FolderLock, isBegun: boolean): void => (isBegun ? lock.release() : lock.abandon())

/** Into a folder without a database. @throws StoreError; Stopped */
export async function moveToFolder({ folder, server: location, at, ...copying }: Moving): Promise<Copied> {
  if (hasDatabaseFile(folder))
    throw new StoreError('file_exists', `${resolve(folder)} already has a database. Choose an empty folder with --to.`)
  const server = await connectForMove(location, 2)
  const lock = lockFolder(folder)
  const wasBegun = hasDraft(folder)
  let isBegun = wasBegun
  try {
    return await atServer(location, async () => {
      await refuseUnfit(server, location)
      const db = openDraft(folder)
      const tables = listTables(db)
      try {
        if (schemaVersion(db) !== SCHEMA_VERSION) throw otherDraft(folder)
        const mark = await markSource(server, location, { tables, to: resolve(folder), at })
        const draftId = findDraftId(db)
        if (draftId !== null && draftId !== mark.id) throw otherDraft(folder)
        if (mark.state === 'moved' && !(wasBegun && draftId !== null)) throw describeEnd(mark, location)
        isBegun = true
        const source = await createPostgresSource(server)
        const target = createFolderTarget(db, { id: mark.id, folder })
        try {
          const copied = await copyTables({ source, target, tables }, copying)
          await saveMark(server, { ...mark, state: 'moved', at })
          await target.release()
          return copied
        } finally {
          await source.close()
        }
      } finally {
        db.close()
      }
    })
  } finally {
    await server.close({ timeout: 0 })
    if (!isBegun) removeDraft(folder)
    release(lock, isBegun)
  }
}

const describeEnd = (mark: Mark, location: PostgresLocation): StoreError =>
  new StoreError('moved', describeMark(mark, { place: describeLocation(location), options: '' }))

const otherDraft = (folder: string): StoreError =>
  new StoreError(
    'file_exists',
    `${folder} has an unfinished copy from another move. Remove it with: eventpost move --undo --to ${folder}`,
  )

async function markSource(
  server: Server,
  location: PostgresLocation,
  { tables, to, at }: Pick<Mark, 'to' | 'at'> & { tables: ReturnType<typeof listTables> },
): Promise<Mark> {
  const there = await findServerMark(server)
  if (there?.to === to) return there
  if (there !== null) throw new StoreError('moved', describeOther(there, { options: '' }))
  const state = await findTargetState(server)
  const [ours] = (await server.unsafe("SELECT to_regclass('schema_version') IS NOT NULL AS has")) as { has: boolean }[]
  if (ours?.has !== true)
    throw new StoreError('missing', `There is no Eventpost data in ${describeLocation(location)}.`)
  if (state.kind === 'receiving')
    throw new StoreError('moved', `A move into ${describeLocation(location)} is not finished. Finish or undo it first.`)
  const fault = await findInstance(server)
  if (fault !== null) throw new StoreError('folder_in_use', `${describeLocation(location)}: ${fault}`)
  await migrate(runOn(server))
  const mark: Mark = { id: crypto.randomUUID(), state: 'moving', to, at }
  await markServer(server, tables, mark)
  return mark
}

/** `left`: why the unfinished copy is still there; null: there is none. */
export type Undone = { left: string | null; isUnfinished: boolean }

/** The folder can be used again, and an unfinished copy is removed. @throws StoreError */
export async function undoMoveToPostgres({
  folder,
  server: location,
}: Pick<Moving, 'folder' | 'server'>): Promise<Undone> {
  if (!hasDatabase(folder)) throw missing(folder)
  const lock = lockFolder(folder)
  const db = openMarked(folder)
  try {
    const mark = findMark(db)
    if (mark === null) throw notMarked(folder)
    db.run('DELETE FROM install WHERE name = ?', [MARK])
    return { left: await reasonOf(() => clearServer(location, mark.id)), isUnfinished: mark.state === 'moving' }
  } finally {
    db.close()
    lock.release()
  }
}

async function reasonOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

async function clearServer(location: PostgresLocation, id: string): Promise<void> {
  const server = await connectForMove(location, 1)
  try {
    await atServer(location, async () => {
      const state = await findTargetState(server)
      if (state.kind === 'receiving' && state.id === id) await clearPostgresTarget(server)
    })
  } finally {
    await server.close({ timeout: 0 })
  }
}

const notMarked = (place: string): StoreError =>
  new StoreError('missing', `The data in ${place} has not been moved, so there is nothing to undo.`)

/** The database can be used again, and an unfinished copy is removed. @throws StoreError */
export async function undoMoveToFolder({
  folder,
  server: location,
}: Pick<Moving, 'folder' | 'server'>): Promise<Undone> {
  const server = await connectForMove(location, 1)
  try {
    await atServer(location, async () => {
      const isMarked = (await findServerMark(server)) !== null
      if (!isMarked && !hasDraft(folder)) throw notMarked(describeLocation(location))
      if (isMarked) await unmarkServer(server)
    })
    const isUnfinished = hasDraft(folder)
    removeDraft(folder)
    return { left: null, isUnfinished }
  } finally {
    await server.close({ timeout: 0 })
  }
}
