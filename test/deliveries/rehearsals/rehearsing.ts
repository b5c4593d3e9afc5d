/** What the tests of rehearsals share: a server with messages, what was decided live, and a rehearsal of the same. */
import { isRefusal } from '../../../src/core/refusals.ts'
import type { Rehearsal, RehearsalInput } from '../../../src/deliveries/rehearsals/index.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { report, send } from '../../api/reports.ts'
import { createTestServer } from '../../helper.ts'
import { createMessaging, messageOf } from '../../messaging.ts'

export type Rehearsing = Awaited<ReturnType<typeof openRehearsing>>

export async function openRehearsing() {
  const server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  const messaging = await createMessaging(server)
  const inputOf = (content: Partial<MessageContent>, changes: Partial<RehearsalInput> = {}): RehearsalInput => ({
    appId: messaging.app.id,
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
    close: () => server.close(),
    /** A message that is live from now on. */
    putLive: (content: Partial<MessageContent> = {}) => messaging.put(messageOf({ name: 'Live', ...content })),
    event: (email: string, changes: Record<string, unknown> = {}) =>
      messaging.event({ email, properties: { url: 'https://first.example/results/1' }, ...changes }),
    /** What one page load of somebody reports. */
    browse: (email: string, ...events: object[]) =>
      send(server, report(server.first, { email, id: `${email}.${crypto.randomUUID()}`, events })),
    async rehearse(content: Partial<MessageContent> = {}, changes: Partial<RehearsalInput> = {}): Promise<Rehearsal> {
      const rehearsal = await server.parts().rehearsals.rehearse(inputOf(content, changes))
      if (!rehearsal || isRefusal(rehearsal)) throw new Error('it cannot be rehearsed')
      return rehearsal
    },
    /** What became of all that is due, by address: `send`, or the reason why not. */
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

/** The same of a rehearsal; without those who had got it before. */
export const outcomesOf = ({ lines }: Rehearsal): Record<string, string> =>
  Object.fromEntries(
    lines.filter(({ outcome }) => outcome !== 'again').map(({ email, outcome }) => [email ?? '', outcome]),
  )
