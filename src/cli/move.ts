import { resolve } from 'node:path'
import { readConfig, UsageError } from '../config.ts'
import { formatCount } from '../core/count.ts'
import { describeLocation, type PostgresLocation } from '../core/data-location.ts'
import type { CopyProgress } from '../store/move/copy.ts'
import {
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  type Given,
  JSON_OUTPUT,
  type Printed,
  required,
  warnOfUnknownSettings,
} from './command.ts'

const REPORT_EVERY_MS = 2_000

export const move: Command = {
  name: 'move',
  summary: 'moves all data from the data folder to an empty PostgreSQL database, or back; stop the server first',
  options: {
    to: {
      type: 'string',
      value: 'PLACE',
      meaning:
        'Where the data goes: postgres://HOST/DATABASE, or a folder if the data is in PostgreSQL. If the address has no user, the user and password come from EVENTPOST_DATABASE_URL, if that has the same host and port.',
      isRequired: true,
    },
    undo: {
      type: 'boolean',
      meaning:
        'Undoes the move to the place in --to, even if it is finished. The source can be used again, with the data it had when the move began.',
    },
    ...DATA,
    ...JSON_OUTPUT,
  },
  run: async (given, env) => {
    const to = required(given, 'to')
    warnOfUnknownSettings(env)
    if (/^(?!postgres(ql)?:)[a-z][a-z\d+.-]*:\/\//i.test(to))
      throw new UsageError('--to takes a folder, or an address that begins with postgres:// or postgresql://.')
    const isToServer = /^postgres(ql)?:/i.test(to)
    const sides = isToServer ? sidesToServer(to, given, env) : sidesToFolder(to, given, env)
    return given.isSet('undo') ? undo(sides) : run(sides)
  },
}

type Sides = { isToServer: boolean; folder: string; server: PostgresLocation }

const databaseOf = (given: Given, env: Environment): PostgresLocation | null =>
  readConfig({ 'database-url': given.text('database-url') }, pick(env)).database

/** Other settings of a server don't matter. */
const pick = ({
  EVENTPOST_DATA,
  EVENTPOST_DATABASE_URL,
  EVENTPOST_DATABASE_URL_FILE,
  EVENTPOST_DATABASE_POOLER,
}: Environment) => ({
  EVENTPOST_DATA,
  EVENTPOST_DATABASE_URL,
  EVENTPOST_DATABASE_URL_FILE,
  EVENTPOST_DATABASE_POOLER,
})

function sidesToServer(to: string, given: Given, env: Environment): Sides {
  const { data } = readConfig({ data: given.text('data') }, { EVENTPOST_DATA: env.EVENTPOST_DATA })
  const database = readTarget(to, env)
  const known = databaseOf(given, env)
  return { isToServer: true, folder: data, server: known === null ? database : withUserOf(known, database) }
}

/** Of the same server, so that the password does not have to be on the command line. */
function withUserOf(known: PostgresLocation, database: PostgresLocation): PostgresLocation {
  const [from, to] = [new URL(known.url), new URL(database.url)]
  if (to.username !== '' || serverOf(from) !== serverOf(to)) return database
  from.pathname = to.pathname
  if (to.search !== '') from.search = to.search
  return { ...database, url: from.href }
}

const serverOf = ({ hostname, port }: URL): string => `${hostname}:${port || '5432'}`

/** @throws UsageError */
function readTarget(to: string, { EVENTPOST_DATABASE_POOLER }: Environment): PostgresLocation {
  try {
    const { database } = readConfig({}, { EVENTPOST_DATABASE_URL: to, EVENTPOST_DATABASE_POOLER })
    if (database !== null) return database
  } catch {}
  throw new UsageError('--to takes an address with a database name, such as postgres://db.example.com/eventpost.')
}

function sidesToFolder(to: string, given: Given, env: Environment): Sides {
  const server = databaseOf(given, env)
  if (server === null)
    throw new UsageError('EVENTPOST_DATABASE_URL is missing. Set it to the PostgreSQL database that contains the data.')
  return { isToServer: false, folder: resolve(to), server }
}

const placeOf = ({ isToServer, folder, server }: Sides): { from: string; to: string } =>
  isToServer ? { from: folder, to: describeLocation(server) } : { from: describeLocation(server), to: folder }

async function run(sides: Sides): Promise<Printed> {
  // no other command loads it
  const [{ moveToFolder, moveToPostgres }, { Stopped }] = await Promise.all([
    import('../store/move/move.ts'),
    import('../store/move/copy.ts'),
  ])
  const startedAt = performance.now()
  const signal = watchSignals()
  try {
    const work = sides.isToServer ? moveToPostgres : moveToFolder
    const note = createProgressReport((line) => console.error(`eventpost: ${line}`))
    const { rows, replaced } = await work({ ...sides, at: Date.now(), note, isStopped: signal.isStopped })
    const seconds = (performance.now() - startedAt) / 1_000
    return {
      ...placeOf(sides),
      rows,
      seconds: Math.round(seconds),
      rowsPerSecond: Math.round(rows / seconds),
      replacedTexts: replaced,
      checked: 'ok',
      next: sides.isToServer
        ? 'Set EVENTPOST_DATABASE_URL, keep EVENTPOST_MASTER_KEY if there is one, then start the server.'
        : `Remove EVENTPOST_DATABASE_URL, then start the server with --data ${sides.folder}.`,
    }
  } catch (error) {
    if (error instanceof Stopped)
      throw new CommandRefused('Stopped. To continue, run the same command again. To undo the move, add --undo.')
    throw error
  } finally {
    signal.end()
  }
}

/** Saves what was copied, instead of ending at once. */
function watchSignals(): { isStopped: () => boolean; end: () => void } {
  let isStopped = false
  const stop = (): void => {
    // the second time, it ends
    if (isStopped) process.exit(1)
    isStopped = true
    console.error('eventpost: stopping')
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop)
  return {
    isStopped: () => isStopped,
    end: () => ['SIGINT', 'SIGTERM'].forEach((name) => process.off(name, stop)),
  }
}

async function undo(sides: Sides): Promise<Printed> {
  const { undoMoveToFolder, undoMoveToPostgres } = await import('../store/move/move.ts')
  const { left, isUnfinished } = await (sides.isToServer ? undoMoveToPostgres : undoMoveToFolder)(sides)
  const { from, to } = placeOf(sides)
  if (left !== null) console.error(`eventpost: the unfinished copy could not be removed: ${left}`)
  if (isUnfinished && left === null)
    return { undone: from, next: `Use ${from}. The unfinished copy in ${to} was removed.` }
  return { undone: from, next: `Use ${from}. Don't start a server on ${to}: two servers would send the same emails.` }
}

const WHOLE_PERCENT = 100

/** A line every two seconds. The time left is estimated from this run, because an earlier one may have copied a part. */
export function createProgressReport(say: (line: string) => void, monotonicMs = () => performance.now()) {
  const startedAt = monotonicMs()
  let first: number | null = null
  let saidAt = startedAt
  return ({ rows, allRows, tables }: CopyProgress): void => {
    first ??= rows
    const now = monotonicMs()
    if (now - saidAt < REPORT_EVERY_MS) return
    saidAt = now
    const perSecond = ((rows - first) / (now - startedAt)) * 1_000
    const percent = allRows === 0 ? WHOLE_PERCENT : Math.floor((rows / allRows) * WHOLE_PERCENT)
    const left = perSecond === 0 ? '' : `, ${describeSeconds((allRows - rows) / perSecond)} left`
    const done = `${percent}%, ${formatCount(rows)} of ${formatCount(allRows)} rows`
    say(`${done}, ${formatCount(Math.round(perSecond))} a second${left} (${tables.join(', ')})`)
  }
}

const MINUTE_S = 60
const describeSeconds = (seconds: number): string =>
  seconds < 2 * MINUTE_S ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / MINUTE_S)} min`
