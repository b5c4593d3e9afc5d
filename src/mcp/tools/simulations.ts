import { Type } from '@sinclair/typebox'
import { HOUR_MS } from '../../core/clock.ts'
import { explainSimulation } from '../../deliveries/explanations.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import type { AppRow } from '../../accounts/access.ts'
import { DEFAULT_PAGE_ITEMS } from '../../core/field-limits.ts'
import { type Fault, faultOf, isFault } from '../../core/inputs.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { publicId } from '../../core/ids.ts'
import { count, CURSOR, PAGE, readContactCursor, writeContactCursor } from '../../http/queries.ts'
import { describeSimulation, describeUnsimulated, type Simulation } from '../../deliveries/simulation/index.ts'
import { isRefusal, type Refusal, refuseFields } from '../../core/refusals.ts'
import { createArguments, emailOf, findMessage, messageIdOf } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanText, UNTRUSTED } from '../untrusted.ts'
import { rulesView } from './explanations.ts'
import { takeCostly, APP, EMAIL, outputSchema, MESSAGE_ID, takes, type Tool, type ToolDependencies } from './tool.ts'

const DEFAULT_DAYS = 7
const MOST_DAYS = 30
/** Later pages belong to the first page's simulation for this long. */
const PAGES_MS = HOUR_MS

type Line = Simulation['lines'][number]
type About = Pick<MessageRow, 'content'> & { zone: string }

const ASKED = takes({
  app: APP,
  messageId: MESSAGE_ID,
  email: Type.Optional(EMAIL),
  days: Type.Optional(count(MOST_DAYS)),
  ...PAGE,
})

const readSimulation = createArguments({
  schema: ASKED,
  clean: ({ messageId, email, days = DEFAULT_DAYS, cursor, limit = DEFAULT_PAGE_ITEMS }, now: number) => {
    const place = cursor === undefined ? { skip: 0, at: now } : readPlace(cursor, now)
    return 'code' in place ? null : { messageId: messageIdOf(messageId), email: emailOf(email), days, ...place, limit }
  },
  rules: (now) => ({ cursor: (value) => (typeof value === 'string' ? faultIn(readPlace(value, now)) : null) }),
})

const faultIn = (read: object): Fault | null => (isFault(read) ? read : null)

const TOO_OLD: Fault = { code: 'invalid', message: 'This cursor has expired. Start again without a cursor.' }

/** Lines shown so far, and the simulation's time (ms UTC). */
function readPlace(text: string, now: number): { skip: number; at: number } | Fault {
  const place = readContactCursor(text, true)
  if (!place || place.updatedAt === null) return faultOf(CURSOR, 'invalid', text)
  const isRecent = place.updatedAt <= now && place.updatedAt > now - PAGES_MS
  return isRecent ? { skip: place.id, at: place.updatedAt } : TOO_OLD
}

export const simulateTool: Tool = {
  name: 'simulate_message',
  title: 'Simulate a message',
  description: "Who would have got it recently, and why others wouldn't.",
  kind: 'read',
  input: ASKED,
  output: outputSchema('simulation', 'data', 'nextCursor'),
  run: async (deps, { access, signal, onProgress }, args) => {
    const asked = await findMessage(deps, access, readSimulation(args, deps.clock.now()))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const person = input.email === null ? null : await deps.store.findContact(app.id, input.email)
    if (input.email !== null && !person) return UNKNOWN_PERSON
    const refused = takeCostly(deps, access, 'simulate_message')
    if (refused) return refused
    const simulation = await simulate(deps, message, {
      ...input,
      hosts: app.hosts,
      contactId: person?.id,
      signal,
      onProgress,
    })
    if (simulation !== null && isRefusal(simulation)) return simulation
    if (simulation === null)
      return refuseFields([{ field: 'messageId', code: 'invalid', message: refuseSimulation(message.content) }])
    return {
      untrusted: UNTRUSTED,
      ok: true,
      ...simulationView(simulation, { content: message.content, zone: app.timezone }, input),
    }
  },
}

type Days = { days: number; at: number }

const refuseSimulation = ({ trigger }: MessageRow['content']): string =>
  `This message can't be simulated, because ${describeUnsimulated(trigger)}.`

const simulate = async (
  deps: ToolDependencies,
  { id: messageId, appId, content }: MessageRow,
  {
    hosts,
    days,
    at,
    contactId,
    ...asking
  }: Days & Pick<AppRow, 'hosts'> & { contactId: number | undefined } & Pick<Caller, 'signal' | 'onProgress'>,
): Promise<Simulation | Refusal | null> => {
  const settings = await deps.store.mailSettings(appId)
  return deps.simulations.simulate({ appId, messageId, hosts, content, days, now: at, contactId, settings }, asking)
}

function simulationView(simulation: Simulation, about: About, { skip, limit }: { skip: number; limit: number }) {
  const { from, until, triggered, counts, estimated, lines } = simulation
  const views = lines.slice(skip, skip + limit).map((line) => lineView(line, about))
  const data = takeWithin(views, PAGE_BYTES - COUNTS_BYTES)
  const shown = skip + data.length
  const nextCursor = shown < lines.length ? writeContactCursor({ id: shown, updatedAt: until }) : null
  const summary = {
    from: iso(from),
    until: iso(until),
    triggered,
    counts,
    estimated,
    notes: describeSimulation(simulation),
  }
  return { simulation: summary, data, nextCursor }
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
