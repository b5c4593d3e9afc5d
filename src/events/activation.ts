import { createSharedTurns } from '../core/in-order.ts'
import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import type { NoteKind, NoteRow, RecordedEvent, Refused } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import { readOrigin } from '../core/origins.ts'
import type { Clock } from '../core/clock.ts'
import { refusedField, type Refusal, REFUSALS } from '../core/refusals.ts'

type Detail = { reason?: string | null; origin?: string | null }
/** The count, and the last one's time (ms UTC), reason and site; null: none yet. */
export type Noted = Omit<NoteRow, 'appId' | 'kind'>

export type Notes = {
  add(appId: number, kind: NoteKind, detail?: Detail): void
  /** Saves pending notes. */
  save(): Promise<void>
  /** Notes that aren't saved yet. */
  pending(appId: number): NoteRow[]
}

/** `onNote` is called after each note, because notes don't commit. */
type Noting = { store: Store; clock: Clock; onNote?: () => void }

/** Counts requests that store no event, such as refused ones. Saved in batches, so that bad requests cost no writes. */
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
    save: createSharedTurns(async () => {
      if (gathered.size === 0) return
      writing = [...gathered.values()]
      gathered = new Map()
      const outcome = await store.addNotes(writing)
      if ('refusal' in outcome)
        for (const note of writing) gathered.set(`${note.appId}:${note.kind}`, join(note, gathered))
      writing = []
    }),
    pending: (appId) => [...writing, ...gathered.values()].filter((note) => note.appId === appId),
  }
}

/** Merges an unsaved note with newer ones. */
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
  /** of an event other than a page view */
  lastNamedAt: number | null
  /** of a page view */
  lastViewAt: number | null
  /** valid signatures */
  lastIdentified: Noted | null
  /** invalid signatures; `reason`: malformed, uppercase or wrong */
  failedSignature: Noted | null
  /** signatures made with a rotated secret */
  oldSecret: Noted | null
  /** signed reports about people the app doesn't know */
  unknownPeople: Noted | null
  withoutEmail: Noted | null
  /** loads of the script by pages of the app's hosts */
  scriptLoaded: Noted | null
  /** visit reports refused for other reasons; `reason`: the error message */
  refused: Noted | null
  /** reports from hosts that aren't listed */
  foreignHost: Noted | null
  /** reports over a limit; `reason` says which */
  limited: Noted | null
  /** refused server calls; `reason`: the error message */
  refusedCall: Noted | null
}

/**
 * The state of the Activation page. `without-email`: the latest event had no email, or pages load the script but nobody
 * was identified. `done`: neither, and an event or a page view arrived.
 */
export async function readActivation(
  { store, notes }: { store: Store; notes: Notes },
  app: AppRow,
): Promise<Activation> {
  const [stored, signs] = await Promise.all([store.listNotes(app.id), store.latestActivity(app.id)])
  const all = [...stored, ...notes.pending(app.id)]
  const of = (kind: NoteKind): Noted | null => mergeNotes(all.filter((note) => note.kind === kind))
  const [withoutEmail, scriptLoaded] = [of('without_email'), of('script_loaded')]
  const lacksOne = withoutEmail !== null && withoutEmail.lastAt > (signs.lastEventAt ?? 0)
  const lastIdentified = of('identified')
  const isIdentified = signs.lastViewAt !== null || lastIdentified !== null
  const isSilent = scriptLoaded !== null && !isIdentified
  const state = lacksOne || isSilent ? 'without-email' : signs.lastEventAt === null ? 'waiting' : 'done'
  return {
    state,
    message: ACTIVATION_MESSAGES[state],
    ...signs,
    lastIdentified,
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

/** Signatures of the account's apps with the previous secret, since the last rotation. */
export async function readOldSecretUse(
  { store, notes }: { store: Store; notes: Notes },
  apps: AppRow[],
): Promise<Noted | null> {
  const all = await Promise.all(apps.map(async ({ id }) => [...(await store.listNotes(id)), ...notes.pending(id)]))
  return mergeNotes(
    all
      .flat()
      .filter(({ kind }) => kind === 'old_secret')
      .toSorted((a, b) => a.lastAt - b.lastAt),
  )
}

/** Oldest first: the reason is the last one's. */
function mergeNotes(notes: NoteRow[]): Noted | null {
  const last = notes.at(-1)
  if (!last) return null
  const { lastAt, reason, origin } = last
  return { count: notes.reduce((sum, note) => sum + note.count, 0), lastAt, reason, origin }
}

/** Notes a refused call for the app it names, else for all apps of the key. Our own failures aren't noted. */
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

/** Notes a script load for the apps of the page's host. Nothing about the visitor. */
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

/** Customers can't send names with `$`, so no message starts with it. Nor does a person whom it adds start one. */
export const TEST_EVENT = '$test'

/** Records an event about a member, who is added as a person. Refusals: plan_limit_reached, unavailable. */
export async function sendTestEvent(
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  member: { email: string },
): Promise<RecordedEvent | Refused> {
  const account = await store.findAccount(app.accountId)
  return store.recordEvent({
    accountId: app.accountId,
    appId: app.id,
    email: member.email,
    shownEmail: null,
    newPeoplePerMonth: account?.plan.newPeoplePerMonth ?? null,
    createContact: true,
    firstName: null,
    lastName: null,
    type: 'event',
    name: TEST_EVENT,
    properties: null,
    path: null,
    via: 'api',
    at: clock.now(),
    occurredAt: null,
    limits: [],
    idempotency: null,
  })
}
