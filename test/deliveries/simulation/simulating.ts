import { isRefusal } from '../../../src/core/refusals.ts'
import type { Simulation, SimulationInput } from '../../../src/deliveries/simulation/index.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { report, send } from '../../api/reports.ts'
import { type TestServer, useSharedServer } from '../../helper.ts'
import { createMessaging, messageOf } from '../../messaging.ts'

export type Simulating = Awaited<ReturnType<typeof openSimulating>>

/** For the tests of a file: each gets an account of its own. */
export function useSimulating(): () => Promise<Simulating> {
  const openServer = useSharedServer()
  return async () => openSimulating(await openServer())
}

async function openSimulating(server: TestServer) {
  await server.setPlan({ snippetLimits: false })
  const messaging = await createMessaging(server)
  const inputOf = (content: Partial<MessageContent>, changes: Partial<SimulationInput> = {}): SimulationInput => ({
    appId: messaging.app.id,
    messageId: null,
    hosts: messaging.app.hosts,
    content: { trigger: { event: 'results_ready' }, mail: { subject: 'S', body: 'B' }, ...content },
    settings: { sendWindow: null, timezone: null, giveUpHours: null },
    days: 7,
    now: server.clock.now(),
    ...changes,
  })
  return {
    server,
    clock: server.clock,
    messaging,
    inputOf,
    /** A message that is live from now on. */
    putLive: (content: Partial<MessageContent> = {}) => messaging.put(messageOf({ name: 'Live', ...content })),
    event: (email: string, changes: Record<string, unknown> = {}) =>
      messaging.event({ email, properties: { url: 'https://first.example/results/1' }, ...changes }),
    browse: (email: string, ...events: object[]) =>
      send(server, report(server.first, { email, id: `${email}.${crypto.randomUUID()}`, events })),
    async simulate(content: Partial<MessageContent> = {}, changes: Partial<SimulationInput> = {}): Promise<Simulation> {
      const simulation = await server.parts().simulations.simulate(inputOf(content, changes))
      if (!simulation || isRefusal(simulation)) throw new Error('it cannot be simulated')
      return simulation
    },
    /** By address: `send`, or the reason why not. */
    async decideLive(): Promise<Record<string, string>> {
      await messaging.decide()
      const decided = (await messaging.deliveries()).map(async ({ contactId, state, reason }) => {
        const contact = await messaging.store().byId(contactId)
        return [contact?.email ?? '', state === 'sent' ? 'send' : (reason ?? state)]
      })
      return Object.fromEntries(await Promise.all(decided))
    },
  }
}

/** Without those who got it before. */
export const outcomesOf = ({ lines }: Simulation): Record<string, string> =>
  Object.fromEntries(
    lines.filter(({ outcome }) => outcome !== 'again').map(({ email, outcome }) => [email ?? '', outcome]),
  )
