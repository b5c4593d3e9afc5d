import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { UsageError } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import { readEmail } from '../core/email.ts'
import { toVisibleLine } from '../core/visible-text.ts'
import { exportPerson, noteExport } from '../deliveries/person-export.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { type ImportCounts, ImportFault, importPeople, readPeople } from '../people/people-import.ts'
import { EXPORT_FORMATS, type ExportFormat, exportPeople } from '../people/people-lists.ts'
import {
  ANY_ACCOUNT,
  APP,
  type Command,
  CommandRefused,
  CommandStopped,
  DATA,
  expectDone,
  findChosenApp,
  type Given,
  JSON_OUTPUT,
  type Options,
  untilSignal,
  withStore,
} from './command.ts'
import { printResult } from './print.ts'

const FORMAT: Options = {
  format: {
    type: 'string',
    value: 'csv|ndjson',
    meaning: 'CSV, or one JSON object per line.',
    default: 'from the name of the file, or csv',
  },
}

const ANYONE = { search: null, tag: null, status: null, field: null, event: null, seen: null, email: null }

const LINES_SHOWN = 100

export const personExport: Command = {
  name: 'person export',
  words: 'EMAIL',
  summary: 'prints everything stored about a person as JSON',
  options: { ...DATA, ...ANY_ACCOUNT, ...APP },
  run: async (given, env) => {
    const address = readEmail(oneWord(given, 'EMAIL', 'person export'))
    if (!address) throw new UsageError('Specify one complete email: eventpost person export ada@example.com.')
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findChosenApp(store, given)
      const person = await store.findContact(app.id, address.email)
      if (!person) throw new CommandRefused(UNKNOWN_PERSON.message ?? '')
      expectDone(await noteExport({ store, clock: systemClock }, app, { person, actor: 'cli' }))
      await write(exportPerson({ store }, app, person))
    })
  },
}

export const peopleExport: Command = {
  name: 'export',
  words: '[FILE]',
  summary: "exports an app's people as CSV or NDJSON",
  options: { ...DATA, ...ANY_ACCOUNT, ...APP, ...FORMAT },
  run: async (given, env) => {
    const [path, ...more] = given.words
    if (more.length > 0) throw new UsageError('Specify one file: eventpost export people.csv.')
    const format = readFormat(given, path)
    refuseExisting(path)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findChosenApp(store, given)
      const by = { accountId: app.accountId, actor: 'cli', at: Date.now() }
      const subject = `people from the app “${app.name}” as ${format.toUpperCase()}`
      expectDone(await store.noteExport({ ...by, action: 'data.export', subject }))
      await write(exportPeople({ store }, app, { filter: ANYONE, sort: 'newest', format }), path)
    })
  },
}

export const peopleImport: Command = {
  name: 'import',
  words: 'FILE',
  summary:
    "adds or updates an app's people from a CSV or NDJSON file. The import triggers no messages, but dates in the imported fields and later inactivity can. In CSV, separate tags with commas or semicolons",
  options: {
    ...DATA,
    ...ANY_ACCOUNT,
    ...APP,
    ...JSON_OUTPUT,
    ...FORMAT,
    'dry-run': { type: 'boolean', meaning: 'Checks the file, and saves nothing.' },
  },
  run: async (given, env) => {
    const path = oneWord(given, 'FILE', 'import')
    const format = readFormat(given, path)
    if (!(await Bun.file(path).exists())) throw new CommandRefused(`${path} can't be read. Check its path.`)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findChosenApp(store, given)
      const isDryRun = given.isSet('dry-run')
      const topics = (await store.listTopics(app.id)).map(({ name }) => name)
      const counts: ImportCounts = { added: 0, updated: 0, failed: 0 }
      const people = readPeople(readPieces(path), { format, app, topics })
      try {
        await refuseFault(path, () =>
          untilSignal(async (signal) => {
            const importing = { actor: 'cli', isDryRun, counts, signal, ...createReporter() }
            await importPeople({ store, clock: systemClock }, app, people, importing)
            if (signal.aborted) throw new CommandStopped('Stopped.', Number(signal.reason))
          }),
        )
      } catch (error) {
        const saved = isDryRun ? 0 : counts.added + counts.updated
        // what stopped it may also refuse this
        if (saved > 0) await noteImport().catch(() => {})
        if (error instanceof CommandStopped) throw new CommandStopped(describeStop(counts, isDryRun), error.exitCode)
        if (saved === 0 || !(error instanceof CommandRefused)) throw error
        const before = `${countPeople(saved)} ${saved === 1 ? 'was' : 'were'} imported before that.`
        throw new CommandRefused(`${error.message} ${before} Importing them again is safe.`)
      }
      if (isDryRun) console.error('eventpost: nothing was saved')
      else await noteImport()
      const printed = isDryRun && !given.isSet('json') ? describeDryRun(counts) : counts
      if (counts.failed === 0) return printed
      console.log(printResult(printed, given.isSet('json')))
      throw new CommandRefused(describeFailed(counts.failed, isDryRun))

      async function noteImport(): Promise<void> {
        const by = { accountId: app.accountId, actor: 'cli', at: Date.now() }
        const subject = `${countPeople(counts.added + counts.updated)} into the app “${app.name}”`
        expectDone(await store.noteExport({ ...by, action: 'data.import', subject }))
      }
    })
  },
}

const countPeople = (count: number): string => (count === 1 ? '1 person' : `${count} people`)

const describeStop = ({ added, updated }: ImportCounts, isDryRun: boolean): string =>
  isDryRun
    ? 'Stopped. Nothing was saved.'
    : `Stopped. ${countPeople(added + updated)} ${added + updated === 1 ? 'was' : 'were'} imported. To continue, import the same file again.`

/** After a dry run, nothing is imported yet. */
function describeFailed(failed: number, isDryRun: boolean): string {
  const [lines, them] = failed === 1 ? ['1 line', 'it'] : [`${failed} lines`, 'them']
  return isDryRun
    ? `${lines} would fail. Correct ${them}, then import the file.`
    : `${lines} could not be imported. Correct ${them}, then import ${them} again.`
}

const describeDryRun = ({ added, updated, failed }: ImportCounts) => ({
  'would add': countPeople(added),
  'would update': countPeople(updated),
  'would fail': failed === 1 ? '1 line' : `${failed} lines`,
})

/** Not a device, such as /dev/stdout. */
function refuseExisting(path: string | undefined): void {
  if (path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new CommandRefused(`${path} already exists. Choose another name, or delete it first.`)
}

function oneWord({ words }: Given, what: string, command: string): string {
  const [word, ...more] = words
  if (word === undefined || more.length > 0)
    throw new UsageError(`Specify one ${what.toLowerCase()}: eventpost ${command} ${what}.`)
  return word
}

function readFormat(given: Given, path = ''): ExportFormat {
  const text = given.text('format')
  const format = EXPORT_FORMATS.find((one) => one === text)
  if (text !== undefined && format === undefined) throw new UsageError('--format takes csv or ndjson.')
  return format ?? (/\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : 'csv')
}

/** Waits for the disk or the reader, so that memory does not grow. `path`: default: stdout. */
async function write(pieces: AsyncIterable<string>, path?: string): Promise<void> {
  // a device has no other name
  const draft = path === undefined || existsSync(path) ? path : `${path}.${process.pid}.tmp`
  try {
    const writer = draft === undefined ? Bun.stdout.writer() : Bun.file(draft).writer()
    for await (const piece of pieces) {
      await writer.write(piece)
      await writer.flush()
    }
    await writer.end()
    if (path === undefined || draft === undefined || draft === path) return
    refuseExisting(path)
    renameSync(draft, path)
  } catch (error) {
    if (draft !== undefined && draft !== path) rmSync(draft, { force: true })
    const code = codeOf(error)
    // the reader has read enough
    if (path === undefined && code === 'EPIPE') return
    if (code === null) throw error
    throw new CommandRefused(
      `${path ?? 'The output'} can't be written (${code}). Check its path, permissions and free space.`,
    )
  }
}

/** Of the system, such as ENOSPC. */
const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && 'syscall' in error ? String(error.code) : null

/** Line by line, so that an error has the number of its line. */
async function* readPieces(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  const decode = (bytes?: Uint8Array): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw new ImportFault(`Line ${line} is not UTF-8 text. Save the file as UTF-8, then import it again.`)
    }
  }
  for await (const bytes of Bun.file(path).stream()) {
    let text = ''
    for (let [at, end] = [0, 0]; at < bytes.length; at = end) {
      const lineEnd = bytes.indexOf(LINE_FEED, at)
      end = lineEnd < 0 ? bytes.length : lineEnd + 1
      text += decode(bytes.subarray(at, end))
      if (lineEnd >= 0) line += 1
    }
    yield text
  }
  yield decode()
}

const LINE_FEED = 10

async function refuseFault<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ImportFault) throw new CommandRefused(`${path}: ${error.message}`)
    const code = codeOf(error)
    if (code !== null) throw new CommandRefused(`${path} can't be read (${code}). Check its permissions.`)
    throw error
  }
}

/** On stderr, because a program may read stdout. */
function createReporter() {
  let shown = 0
  return {
    onError(line: number, { field, message }: { field: string; message: string }): void {
      shown += 1
      if (shown <= LINES_SHOWN) console.error(`eventpost: line ${line}: ${field === '' ? '' : `${field}: `}${message}`)
      if (shown === LINES_SHOWN + 1) console.error('eventpost: further errors are not shown')
    },
    onIgnored: (names: string[]): void =>
      console.error(`eventpost: unknown columns are ignored: ${names.map(toVisibleLine).join(', ')}`),
  }
}
