import type { Database } from 'bun:sqlite'
import type { IdSequence } from '../core/ids.ts'
import { createPersonCache } from './person-cache.ts'
import { createSuppressionList } from './suppressions.ts'
import type { Triggers } from './triggers.ts'
import type { ContactWrite, EventWrite, Refused } from './types.ts'

/** What the hot path must know of a person without reading the row. */
export type Person = { id: number; lacksName: boolean }

type NewPerson = Pick<
  EventWrite | ContactWrite,
  'accountId' | 'appId' | 'email' | 'shownEmail' | 'newPeoplePerMonth' | 'at'
> & { firstName: string | null; lastName: string | null; source: string | null }

/** Finds and makes people. `forget` drops what was cached: after a rollback, or when another process has written. */
export type People = ReturnType<typeof createPeople>

export function createPeople({ db, ids, triggers }: { db: Database; ids: IdSequence; triggers: Triggers }) {
  const select = db.prepare<{ id: number; lacksName: number }, [number, string]>(
    `SELECT id, first_name IS NULL OR last_name IS NULL AS lacksName FROM contacts WHERE app_id = ? AND email = ?`,
  )
  const insert = db.prepare(
    `INSERT INTO contacts (id, app_id, email, shown_email, first_name, last_name, source, status, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const suppressions = createSuppressionList(db)
  const countNew = db.prepare<{ count: number }, [string, string]>(
    'SELECT count FROM new_people WHERE account_id = ? AND month = ?',
  )
  const addNew = db.prepare(
    'INSERT INTO new_people (account_id, month, count) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
  )
  // one number says both: the id, negative where a name is missing
  const known = createPersonCache()
  const remember = (appId: number, email: string, person: Person): Person => {
    known.set(appId, email, person.lacksName ? -person.id : person.id)
    return person
  }

  return {
    find(appId: number, email: string): Person | null {
      const cached = known.get(appId, email)
      if (cached !== undefined) return { id: Math.abs(cached), lacksName: cached < 0 }
      const row = select.get(appId, email)
      return row ? remember(appId, email, { id: row.id, lacksName: row.lacksName === 1 }) : null
    },
    /** Refused with `plan_limit_reached` when this calendar month (UTC) has had its new people. */
    add(person: NewPerson): Person | Refused {
      const month = new Date(person.at).toISOString().slice(0, 7)
      const limit = person.newPeoplePerMonth
      if (limit !== null && (countNew.get(person.accountId, month)?.count ?? 0) >= limit) {
        return { refusal: 'plan_limit_reached' }
      }
      const { appId, email, shownEmail, firstName, lastName, source, at } = person
      const id = ids.next()
      // whoever was put on the list before they came, or was erased and came back, has said what they want
      const status = suppressions.find(appId, email) ?? 'subscribed'
      insert.run(id, appId, email, shownEmail, firstName, lastName, source, status, at, at)
      addNew.run(person.accountId, month)
      triggers.onContactCreated(appId, id, at)
      return remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    },
    drop: (appId: number, email: string): void => void known.delete(appId, email),
    forget: (): void => known.clear(),
  }
}
