/** A mark on data that is moved elsewhere. While it is there, no server and no other command uses the data. */
import type { Database } from 'bun:sqlite'
import { StoreError } from '../engine/errors.ts'

/** Its row in `install`. */
export const MARK = 'move'

export type Mark = { id: string; state: 'moving' | 'moved'; /** without a password */ to: string; at: number }

export const readMark = (value: string | null | undefined): Mark | null =>
  typeof value === 'string' ? (JSON.parse(value) as Mark) : null

/** The progress of a move into a folder, which its draft has. */
const PROGRESS_TABLES = ['move_state', 'move_progress', 'move_later']
const HAS_PROGRESS = "SELECT 1 FROM sqlite_schema WHERE name = 'move_state'"

/** Once the draft has become the folder's database. */
export function dropProgress(db: Database): void {
  if (db.query(HAS_PROGRESS).get() === null) return
  db.transaction(() => {
    for (const name of PROGRESS_TABLES) db.run(`DROP TABLE IF EXISTS ${name}`)
  }).immediate()
}

const HAS_INSTALL = "SELECT 1 FROM sqlite_schema WHERE name = 'install'"

export function findMark(db: Database): Mark | null {
  if (db.query(HAS_INSTALL).get() === null) return null
  const row = db.query<{ value: string }, [string]>('SELECT value FROM install WHERE name = ?').get(MARK)
  return readMark(row?.value)
}

/** `place`: where the data was. `options`: that choose it on the command line. */
type Place = { place: string; options: string }

export const folderPlace = (folder: string): Place => ({ place: folder, options: ` --data ${folder}` })

/** @throws StoreError `moved` */
export function refuseMarked(mark: Mark | null, place: Place): void {
  if (mark !== null) throw new StoreError('moved', describeMark(mark, place))
}

export const undoCommand = ({ to }: Pick<Mark, 'to'>, { options }: Pick<Place, 'options'>): string =>
  `eventpost move --undo --to ${to}${options}`

export const describeOther = (mark: Mark, place: Pick<Place, 'options'>): string =>
  `The data is being moved to ${mark.to}, or was moved there. Undo that move first: ${undoCommand(mark, place)}`

/** Of a folder that a move is not finished into. */
export const describeDraft = (folder: string): string =>
  `${folder} has an unfinished copy of data from a PostgreSQL database. Set EVENTPOST_DATABASE_URL to that database. To continue: eventpost move --to ${folder}. To undo the move: ${undoCommand({ to: folder }, { options: '' })}`

export function describeMark(mark: Mark, { place, options }: Place): string {
  const { state, to, at } = mark
  const undo = undoCommand(mark, { options })
  return state === 'moving'
    ? `The data in ${place} is being moved to ${to}. To continue: eventpost move --to ${to}${options}. To undo the move: ${undo}`
    : `The data in ${place} was moved to ${to} at ${new Date(at).toISOString()}. Use it there. To use the old data again: ${undo}`
}
