/** The thread of prototype.ts that writes: a transaction for each batch, people's ids remembered. */
import { Database, type Statement } from 'bun:sqlite'

declare const self: Worker

type Event = { email: string; event: string; properties: unknown }

const TABLES = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;
  CREATE TABLE contacts (id INTEGER PRIMARY KEY, app_id INTEGER, email TEXT, created_at INTEGER, UNIQUE (app_id, email));
  CREATE TABLE events (id INTEGER PRIMARY KEY, app_id INTEGER, contact_id INTEGER, name TEXT, properties TEXT, at INTEGER);
  CREATE INDEX events_by_contact ON events (contact_id);
  CREATE INDEX events_by_app ON events (app_id);`
/** Beyond so many people the memory begins anew. */
const PEOPLE = 60_000

const people = new Map<string, number>()

function open(path: string): (events: Event[]) => number[] {
  const db = new Database(path, { create: true, strict: true })
  db.run(TABLES)
  const find = db.prepare<{ id: number }, [string]>('SELECT id FROM contacts WHERE app_id = 1 AND email = ?')
  const add = db.prepare('INSERT INTO contacts (app_id, email, created_at) VALUES (1, ?, ?)')
  const insert: Statement = db.prepare('INSERT INTO events VALUES (NULL, 1, ?, ?, ?, ?)')
  const idOf = (email: string, at: number): number => {
    const known = people.get(email)
    if (known !== undefined) return known
    const id = find.get(email)?.id ?? Number(add.run(email, at).lastInsertRowid)
    if (people.size >= PEOPLE) people.clear()
    people.set(email, id)
    return id
  }
  return db.transaction((events: Event[]) => {
    const at = Date.now()
    return events.map(({ email, event, properties }) => {
      const contactId = idOf(email, at)
      insert.run(contactId, event, JSON.stringify(properties), at)
      return contactId
    })
  }).immediate
}

let write: ((events: Event[]) => number[]) | null = null
self.onmessage = ({ data }: MessageEvent<string | { open: string }>) => {
  if (typeof data !== 'string') {
    write = open(data.open)
    self.postMessage('')
  } else self.postMessage(JSON.stringify(write?.(JSON.parse(data) as Event[])))
}
