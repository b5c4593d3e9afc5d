import { Database } from 'bun:sqlite'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { StoreError } from './errors.ts'
import { CODE_STEPS } from './migrations/index.ts'

export const schemaVersion = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0

/** Migrates an older database after making a full copy of it next to the file. @throws StoreError `newer_schema` */
export function upgrade(db: Database, path: string, migrations: readonly string[]): void {
  const version = schemaVersion(db)
  if (version > migrations.length) {
    throw new StoreError(
      'newer_schema',
      `${path} has schema version ${version}; this executable supports versions up to ${migrations.length}. Use a newer executable.`,
    )
  }
  if (version === migrations.length) return
  backUpBefore(db, path, version)
  applyMigrations(db, version, migrations)
}

/** Never deleted, so that the user can go back. */
function backUpBefore(db: Database, path: string, version: number): void {
  const draft = `${path}.${process.pid}.copy`
  rmSync(draft, { force: true })
  try {
    db.run('VACUUM INTO ?', [draft])
    chmodSync(draft, 0o600)
    // another process may have migrated meanwhile; its backup of the old version must not be replaced
    if (versionOf(draft) === version) renameSync(draft, `${path}.before-${version + 1}`)
  } finally {
    rmSync(draft, { force: true })
  }
}

function versionOf(path: string): number {
  const copy = new Database(path, { readonly: true })
  const version = schemaVersion(copy)
  copy.close()
  return version
}

/** Each migration commits together with its version number, so a crash leaves a valid version. */
export function applyMigrations(db: Database, from: number, migrations: readonly string[]): void {
  for (const [index, sql] of migrations.slice(from).entries()) {
    const target = from + index + 1
    db.transaction(() => {
      if (schemaVersion(db) >= target) return
      db.run(sql)
      CODE_STEPS.get(target)?.(db)
      db.run(`PRAGMA user_version = ${target}`)
    }).immediate()
  }
}
