import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import type { NoteKind, NoteRow } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import { findNamedApp } from '../accounts/apps.ts'
import { lacksEmail, type Body } from '../core/inputs.ts'
import { readOrigin } from '../core/origins.ts'
import type { Clock } from '../core/clock.ts'
import { refusedField, type Refusal, REFUSALS } from '../core/refusals.ts'

type Detail = { reason?: string | null; origin?: string | null }
/** How many, and of the last one when (ms UTC), why and on which site's pages; null: none yet. */
export type Noted = Omit<NoteRow, 'appId' | 'kind'>

export type Notes = {
  add(appId: number, kind: NoteKind, detail?: Detail): void
  /** Writes what was noted since the last time. */
  save(): Promise<void>
  /** What was noted and is not written yet. */
  pending(appId: number): NoteRow[]
}

/** `onNote` is called after each, because it makes no commit that others could notice. */
type Noting = { store: Store; clock: Clock; onNote?: () => void }

/**
 * Remembers what happened to an app without leaving an event. Gathered here and written now and then, so that
 * whoever sends nonsense has nothing written; only apps that exist are noted, so it stays small.
 */
export function createNotes({ store, clock, onNote = () => {} }: Noting): Notes {
  let gathered = new Map<string, NoteRow>()
  let writing: NoteRow[] = []
  return {
    add(appId, kind, { reason = null, origin = null } = {}) {
      const key = `${appId}:${kind}`
      const count = (gathered.get(key)?.count ?? 0) + 1
      gathered.set(key, { appId, kind, count, lastAt: clock.now(), reason, origin })
      onNote()
    },
    async save() {
      if (gathered.size === 0 || writing.length > 0) return
      writing = [...gathered.values()]
      gathered = new Map()
      const outcome = await store.addNotes(writing)
      if ('refusal' in outcome)
        for (const note of writing) gathered.set(`${note.appId}:${note.kind}`, join(note, gathered))
      writing = []
    },
    pending: (appId) => [...writing, ...gathered.values()].filter((note) => note.appId === appId),
  }
}

/** What could not be written, with what came since. */
function join(note: NoteRow, gathered: Map<string, NoteRow>): NoteRow {
  const since = gathered.get(`${note.appId}:${note.kind}`)
  return since ? { ...since, count: since.count + note.count } : note
}

export const ACTIVATION_MESSAGES = {
  waiting: 'Waiting for the first event...',
  'without-email': "Call identify with the user's email after they sign in.",
  done: null,
} as const

export type ActivationState = keyof typeof ACTIVATION_MESSAGES

export type Activation = {
  state: ActivationState
  /** the specification's sentence; null when there is nothing left to do */
  message: string | null
  lastEventAt: number | null
  /** of an event that is no page view */
  lastNamedAt: number | null
  /** of a page view that the browser script reported */
  lastViewAt: number | null
  /** a signature that proved nobody; `reason` is malformed, uppercase or wrong */
  failedSignature: Noted | null
  /** signatures that were made with a secret which was rotated out */
  oldSecret: Noted | null
  /** batches with a valid signature of people whom the app does not know */
  unknownPeople: Noted | null
  withoutEmail: Noted | null
  /** the script was fetched by a page of one of the app's hosts */
  scriptLoaded: Noted | null
  /** of the browser script's requests, for other reasons than those named here; `reason` is the sentence it was answered with */
  refused: Noted | null
  /** of a page on a host that is not in the list */
  foreignHost: Noted | null
  /** beyond a limit of the browser script; `reason` says which */
  limited: Noted | null
  /** of a server's calls; `reason` is the sentence it was answered with */
  refusedCall: Noted | null
}

/**
 * Where an app stands on the Activation screen, with all that helps to find out why. `without-email`: what came
 * last had no email, or pages load the script and nobody was ever proven. One good event and a page view make it `done`.
 */
export async function readActivation(
  { store, notes }: { store: Store; notes: Notes },
  app: AppRow,
): Promise<Activation> {
  const [stored, signs] = await Promise.all([store.listNotes(app.id), store.firstSigns(app.id)])
  const all = [...stored, ...notes.pending(app.id)]
  const of = (kind: NoteKind): Noted | null => sumUp(all.filter((note) => note.kind === kind))
  const [withoutEmail, scriptLoaded] = [of('without_email'), of('script_loaded')]
  const lacksOne = withoutEmail !== null && withoutEmail.lastAt > (signs.lastEventAt ?? 0)
  const isIdentified = signs.lastViewAt !== null || of('identified') !== null
  const isSilent = scriptLoaded !== null && !isIdentified
  const state = lacksOne || isSilent ? 'without-email' : signs.lastEventAt === null ? 'waiting' : 'done'
  return {
    state,
    message: ACTIVATION_MESSAGES[state],
    ...signs,
    failedSignature: of('failed_signature'),
    oldSecret: of('old_secret'),
    unknownPeople: of('unknown_person'),
    withoutEmail,
    scriptLoaded,
    refused: of('refused'),
    foreignHost: of('foreign_host'),
    limited: of('limited'),
    refusedCall: of('refused_call'),
  }
}

/** Signatures of all the account's apps that were made with the secret before, since the last rotation. */
export async function readOldSecretUse(
  { store, notes }: { store: Store; notes: Notes },
  apps: AppRow[],
): Promise<Noted | null> {
  const all = await Promise.all(apps.map(async ({ id }) => [...(await store.listNotes(id)), ...notes.pending(id)]))
  return sumUp(
    all
      .flat()
      .filter(({ kind }) => kind === 'old_secret')
      .toSorted((a, b) => a.lastAt - b.lastAt),
  )
}

/** In the order in which they were noted: the last one tells why. */
function sumUp(notes: NoteRow[]): Noted | null {
  const last = notes.at(-1)
  if (!last) return null
  const { lastAt, reason, origin } = last
  return { count: notes.reduce((sum, note) => sum + note.count, 0), lastAt, reason, origin }
}

/** A server's event that was refused for want of an email, noted for the app it names. */
export function noteEventWithoutEmail(
  { notes }: { notes: Notes },
  { read }: { read?: { access: Access; body: Body } },
): void {
  const app = read && lacksEmail(read.body) ? findNamedApp(read.access, read.body) : undefined
  if (app) notes.add(app.id, 'without_email')
}

/**
 * A server's call that was refused, noted with the sentence it was answered with: for the app it names, else for all that
 * its key could have meant. Our own faults are no concern of who integrates.
 */
export function noteRefusedCall(
  { notes }: { notes: Notes },
  { access, app, refusal: refused }: { access: Access; app?: AppRow; refusal: Refusal },
): void {
  const { status, message } = REFUSALS[refused.refusal]
  if (status >= 500) return
  const sentence = refused.message ?? message
  const field = refusedField(refused)
  const reason = field === undefined ? sentence : `\`${field}\`: ${sentence}`
  for (const { id } of app ? [app] : access.apps) notes.add(id, 'refused_call', { reason })
}

/** The script was loaded by a page: noted for the apps on whose hosts that page is. Nothing of the visitor. */
export async function noteScriptLoad(
  { access, notes }: { access: KeyAccess; notes: Notes },
  referrer: string | null,
): Promise<void> {
  const origin = readOrigin(referrer)
  if (origin === null) return
  for (const appId of await access.findAppsByHost(new URL(origin).hostname)) {
    notes.add(appId, 'script_loaded', { origin })
  }
}
