/** A stored message simulated as programs ask for it, over MCP and the API. */
import type { Access, AppRow } from '../accounts/access.ts'
import { takeCostly } from '../accounts/costly-calls.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Clock } from '../core/clock.ts'
import { publicId } from '../core/ids.ts'
import { type Refusal, refuseFields } from '../core/refusals.ts'
import type { MessageContent, MessageRow } from '../messages/messages.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import type { Store } from '../store/store.ts'
import { explainSimulation, ruleView } from './explanations.ts'
import { describeSimulation, describeUnsimulated, type Simulation, type Simulations } from './simulation/index.ts'

type Dependencies = { store: Store; clock: Clock; limits: Limits; simulations: Simulations }

/** `at`: ms UTC. `email`: only this person. */
type Asked = {
  access: Access
  app: AppRow
  message: MessageRow
  input: { email: string | null; days: number; at: number }
}

type Asking = NonNullable<Parameters<Simulations['simulate']>[1]>

/** Refusals: contact_not_found, rate_limited, invalid_field for a trigger that can't be simulated, unavailable. */
export async function simulateMessage(
  { store, clock, limits, simulations }: Dependencies,
  { access, app, message, input: { email, days, at } }: Asked,
  asking: Asking,
): Promise<Simulation | Refusal> {
  const person = email === null ? null : await store.findContact(app.id, email)
  if (email !== null && !person) return UNKNOWN_PERSON
  const refused = await takeCostly({ limits, clock }, access, 'simulate_message')
  if (refused) return refused
  const { id: messageId, content } = message
  const settings = await store.mailSettings(app.id)
  const about = { appId: app.id, messageId, hosts: app.hosts, content, settings }
  const simulation = await simulations.simulate({ ...about, days, now: at, contactId: person?.id }, asking)
  if (simulation !== null) return simulation
  return refuseFields([{ field: 'messageId', code: 'invalid', message: refuseSimulation(content) }])
}

const refuseSimulation = ({ trigger }: MessageContent): string =>
  `This message can't be simulated, because ${describeUnsimulated(trigger)}.`

const iso = (at: number): string => new Date(at).toISOString()

/** As the API and MCP show it. */
export const simulationView = (simulation: Simulation) => {
  const { from, until, triggered, counts, estimated } = simulation
  return {
    from: iso(from),
    until: iso(until),
    triggered,
    counts,
    estimated,
    notes: describeSimulation(simulation),
  }
}

type Line = Simulation['lines'][number]

/** One trigger, as the API and MCP show it. */
export function lineView(line: Line, { app, message }: Pick<Asked, 'app' | 'message'>) {
  const { email, contactId, triggeredAt, dueAt, outcome } = line
  const about = { person: { firstName: null, email }, content: message.content, zone: app.timezone }
  const { why, rules } = explainSimulation(line, about)
  return {
    email,
    contactId: publicId('con', contactId),
    triggeredAt: iso(triggeredAt),
    dueAt: iso(dueAt),
    outcome,
    why,
    rules: rules.map(ruleView),
  }
}
