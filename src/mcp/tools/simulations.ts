import { Type } from '@sinclair/typebox'
import { explainSimulation } from '../../deliveries/explanations.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { type Body, readAddress } from '../../core/field-readers.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { publicId } from '../../core/ids.ts'
import { readContactCursor, readLimit, writeContactCursor } from '../../http/queries.ts'
import { describeSimulation, type Simulation } from '../../deliveries/simulation/index.ts'
import { type FieldError, isRefusal, type Refusal, refuseFields } from '../../core/refusals.ts'
import { type Names, findMessage, readAbout, readMessageId } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import {
  takeCostly,
  APP,
  EMAIL,
  outputSchema,
  MESSAGE_ID,
  PAGE,
  takes,
  type Tool,
  type ToolDependencies,
} from './tool.ts'
import { cleanText, UNTRUSTED } from '../untrusted.ts'
import { rulesView } from './explanations.ts'

const DEFAULT_DAYS = 7
const MOST_DAYS = 30
/** Later pages belong to the first page's simulation for this long. */
const PAGES_MS = 3_600_000

type Line = Simulation['lines'][number]
type About = Pick<MessageRow, 'content'> & { zone: string }

const readSimulation = (args: Body, known: Names, now: number) =>
  readAbout(args, known, (query, errors) => ({
    messageId: readMessageId(query, errors),
    email: query.email === undefined ? null : readAddress(query.email, errors).email,
    days: readDays(query.days, errors),
    ...readPlace(query.cursor, now, errors),
    limit: readLimit(query.limit, errors),
  }))

function readDays(text: string | undefined, errors: FieldError[]): number {
  if (text === undefined) return DEFAULT_DAYS
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > MOST_DAYS)
    errors.push({ field: 'days', code: 'invalid', message: `Send a whole number from 1 to ${MOST_DAYS}.` })
  return days
}

/** Lines shown so far, and the simulation's time (ms UTC). */
function readPlace(text: string | undefined, now: number, errors: FieldError[]): { skip: number; at: number } {
  if (text === undefined) return { skip: 0, at: now }
  const place = readContactCursor(text, true, errors)
  if (!place || place.updatedAt === null) return { skip: 0, at: now }
  const isRecent = place.updatedAt <= now && place.updatedAt > now - PAGES_MS
  if (!isRecent) errors.push({ field: 'cursor', code: 'invalid', message: 'This page is too old. Begin again.' })
  return { skip: place.id, at: place.updatedAt }
}

export const simulateTool: Tool = {
  name: 'simulate_message',
  title: 'Who would have got an email',
  description: 'Who would have got a message in the last days, and why others not; or `email` alone. Sends nothing.',
  kind: 'read',
  input: takes({
    app: APP,
    messageId: MESSAGE_ID,
    email: Type.Optional(EMAIL),
    days: Type.Optional(Type.Integer({ maximum: MOST_DAYS })),
    ...PAGE,
  }),
  output: outputSchema('simulation', 'data', 'nextCursor'),
  run: async (deps, { access, signal }, args, known) => {
    const asked = await findMessage(deps, access, readSimulation(args, known, deps.clock.now()))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const person = input.email === null ? null : await deps.store.findContact(app.id, input.email)
    if (input.email !== null && !person) return UNKNOWN_PERSON
    const refused = takeCostly(deps, access, 'simulate_message')
    if (refused) return refused
    const simulation = await simulate(deps, message, { ...input, contactId: person?.id, signal })
    if (simulation !== null && isRefusal(simulation)) return simulation
    if (simulation === null) return refuseFields([{ field: 'messageId', code: 'invalid', message: BY_TAG }])
    return {
      untrusted: UNTRUSTED,
      ok: true,
      ...simulationView(simulation, { content: message.content, zone: app.timezone }, input),
    }
  },
}

const BY_TAG = "Messages that start with a tag can't be simulated: the time a tag was added isn't stored."

const simulate = async (
  deps: ToolDependencies,
  { appId, content }: MessageRow,
  { days, at, contactId, signal }: { days: number; at: number; contactId: number | undefined; signal: AbortSignal },
): Promise<Simulation | Refusal | null> => {
  const settings = await deps.store.mailSettings(appId)
  return deps.simulations.simulate({ appId, content, days, now: at, contactId, settings }, { signal })
}

function simulationView(simulation: Simulation, about: About, { skip, limit }: { skip: number; limit: number }) {
  const { from, until, triggered, counts, estimated, lines } = simulation
  const views = lines.slice(skip, skip + limit).map((line) => lineView(line, about))
  const data = takeWithin(views, PAGE_BYTES - COUNTS_BYTES)
  const shown = skip + data.length
  const nextCursor = shown < lines.length ? writeContactCursor({ id: shown, updatedAt: until }) : null
  const told = {
    from: iso(from),
    until: iso(until),
    triggered,
    counts,
    estimated,
    notes: describeSimulation(simulation),
  }
  return { simulation: told, data, nextCursor }
}

const COUNTS_BYTES = 2 * 1024
const RULES_BYTES = 4 * 1024

function lineView(line: Line, about: About) {
  const { email, contactId, outcome } = line
  const explained = explainSimulation(line, { person: { firstName: null, email }, ...about })
  return {
    email: email === null ? null : cleanText(email),
    contactId: publicId('con', contactId),
    triggeredAt: iso(line.triggeredAt),
    dueAt: iso(line.dueAt),
    outcome,
    why: cleanText(explained.why),
    rules: takeWithin(rulesView(explained), RULES_BYTES),
  }
}

const iso = (at: number): string => new Date(at).toISOString()
