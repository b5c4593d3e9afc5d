import type { MessageContent, MessageRow, MessageStatus } from '../store/message-types.ts'
import type { MessageChange, SavedMessage } from '../store/messages.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, Refused } from '../store/types.ts'
import type { StoppedEmails } from '../core/hand-overs.ts'
import { type CheckContext, checkLive } from './message-checks.ts'
import { warnOfUntried } from './tried.ts'
import { nameChoices, type ReadMessage, readMessage } from './message-input.ts'
import { findTopicFaults } from './topics.ts'
import type { MessageInput } from './message-schema.ts'
import { linkDrafts } from './sequences.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields } from '../core/refusals.ts'

const MAX_MESSAGES = 200

export type ImportedMessage = {
  name: string
  change: 'created' | 'changed' | 'unchanged'
  status: MessageStatus
  fields: string[]
}

export async function exportMessages(store: Store, app: AppRow): Promise<MessageInput[]> {
  const rows = await store.listMessages(app.id)
  return rows.map(({ name, status, content }) => ({ name, status, ...content }))
}

/**
 * All or none: messages with the same name are changed, others created, none removed. `status` overrides the file;
 * `dryRun` saves nothing. Refusals: invalid_field by path, message_changed.
 */
export async function importMessages(
  context: CheckContext,
  by: MessageChange,
  { file, status, dryRun }: { file: unknown; status: MessageStatus | null; dryRun: boolean },
): Promise<({ messages: ImportedMessage[]; warnings: FieldError[] } & StoppedEmails) | Refusal | Refused> {
  const reading = readFile(file)
  if ('errors' in reading) return refuseFields(reading.errors)
  const old = await context.store.listMessages(context.app.id)
  const linked = linkDrafts(
    reading.input.map((message) => ({ id: null, ...message })),
    old,
  )
  const unlinked = linked.errors.flatMap((errors, index) => atPlace(index, errors))
  if (unlinked.length > 0) return refuseFields(unlinked)
  const messages = linked.drafts.map((message) => ({ ...message, status: status ?? message.status }))
  const changes = messages.map((message) => compare(message, findByName(old, message.name)))
  const { problems, warnings } = await checkAll({ ...context, drafts: messages }, messages, changes)
  const contents = messages.map(({ content }) => content)
  const faults = [...problems, ...(await findTopicFaults(context.store, context.app, contents))]
  if (faults.length > 0) return refuseFields(faults)
  if (dryRun) return { messages: changes, warnings, stillSending: 0 }
  const drafts = messages.map((one) => ({ ...one, basedOn: findByName(old, one.name)?.updatedAt ?? null }))
  const outcome = await context.store.saveMessages({ ...by, drafts })
  if (isRefusal(outcome)) return outcome.refusal === 'message_changed' ? refuse('message_changed', CHANGED) : outcome
  const stopped = old.filter(({ id, status: was }) => was === 'live' && outcome.saved.some((one) => isStopped(one, id)))
  return { messages: changes, warnings, stillSending: await settleElsewhere(context.store, stopped) }
}

const CHANGED = {
  message: 'Someone else changed these messages during the import, so nothing was imported. Import them again.',
}

const isStopped = (saved: SavedMessage, id: number): boolean => saved.id === id && saved.status !== 'live'

const SETTLE_MS = 5_000
const LOOK_MS = 100
const HANDED_MAX = 1_000

/** Waits for the outcome of emails being sent. @returns how many have none yet; another process may be sending them */
async function settleElsewhere(store: Store, messages: MessageRow[]): Promise<number> {
  const count = async (): Promise<number> => {
    const asked = { contactId: null, states: ['handed'] as const, before: null, limit: HANDED_MAX }
    const handed = messages.map(({ id, appId }) => store.listDeliveries({ ...asked, appId, messageId: id }))
    return (await Promise.all(handed)).flat().length
  }
  const until = performance.now() + SETTLE_MS
  let handed = await count()
  while (handed > 0 && performance.now() < until) {
    await Bun.sleep(LOOK_MS)
    handed = await count()
  }
  return handed
}

const findByName = (rows: MessageRow[], name: string): MessageRow | undefined => rows.find((row) => row.name === name)

const FILE_RULE = `Put the messages in a JSON array, even a single one. A file can have up to ${MAX_MESSAGES}.`

function readFile(file: unknown): { input: ReadMessage[] } | { errors: FieldError[] } {
  if (!Array.isArray(file) || file.length > MAX_MESSAGES) {
    return { errors: [{ field: 'file', code: 'invalid', message: FILE_RULE }] }
  }
  const readings = file.map(readMessage)
  const errors = readings.flatMap((reading, index) => ('errors' in reading ? atPlace(index, reading.errors) : []))
  const input = readings.flatMap((reading) => ('input' in reading ? [reading.input] : []))
  for (const [index, { name }] of input.entries()) {
    if (input.findIndex((other) => other.name === name) === index) continue
    errors.push(...atPlace(index, [{ field: 'name', code: 'conflict', message: 'Two messages have this name.' }]))
  }
  return errors.length > 0 ? { errors } : { input }
}

const atPlace = (index: number, errors: FieldError[]): FieldError[] =>
  errors.map(({ field, message, ...rest }) => ({
    ...rest,
    field: `[${index}]${field === '' ? '' : `.${field}`}`,
    message: nameChoices(message),
  }))

/** Checks the sender address of all messages, and everything else only of those that will be live. */
async function checkAll(context: CheckContext, messages: ReadMessage[], changes: ImportedMessage[]) {
  const [problems, warnings]: [FieldError[], FieldError[]] = [[], []]
  for (const [index, { content }] of messages.entries()) {
    if (changes[index]?.status !== 'live') {
      problems.push(...atPlace(index, await context.senders.findUnlisted(context.app, content.mail)))
      continue
    }
    const check = await checkLive(context, content)
    problems.push(
      ...atPlace(
        index,
        check.problems.map(({ replace: _, ...problem }) => problem),
      ),
    )
    warnings.push(...atPlace(index, [...check.warnings, ...warnOfUntried(check)]))
  }
  return { problems, warnings }
}

function compare({ name, status, content }: ReadMessage, old: MessageRow | undefined): ImportedMessage {
  if (!old) return { name, change: 'created', status: status ?? 'draft', fields: [] }
  const next = status ?? old.status
  const fields = [...(next === old.status ? [] : ['status']), ...listDifferences(old.content, content)]
  return { name, change: fields.length === 0 ? 'unchanged' : 'changed', status: next, fields }
}

function listDifferences(a: MessageContent, b: MessageContent): string[] {
  const paths: string[] = []
  walk(a, b, '', paths)
  return paths
}

function walk(a: unknown, b: unknown, path: string, paths: string[]): void {
  if (Bun.deepEquals(a, b, true)) return
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return void paths.push(path)
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const place = Array.isArray(a) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    walk(a[key], b[key], place, paths)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
