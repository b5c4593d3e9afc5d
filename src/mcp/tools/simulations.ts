import { Type } from '@sinclair/typebox'
import { lineView, simulateMessage, simulationView } from '../../deliveries/message-simulations.ts'
import { idOf } from '../../core/ids.ts'
import { readSimulated, SIMULATED, simulatedRules, writeContactCursor } from '../../http/queries.ts'
import { isRefusal } from '../../core/refusals.ts'
import { createArguments, emailOf, findMessage } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, UNTRUSTED } from '../untrusted.ts'
import { cleanRules } from './explanations.ts'
import { APP, EMAIL, MESSAGE_ID, takes, type Tool } from './tool.ts'

const ASKED = takes({ app: APP, messageId: MESSAGE_ID, email: Type.Optional(EMAIL), ...SIMULATED })

const readSimulation = createArguments({
  schema: ASKED,
  clean: ({ messageId, email, ...asked }, now: number) => {
    const simulated = readSimulated(asked, now)
    return simulated && { messageId: idOf('msg', messageId), email: emailOf(email), ...simulated }
  },
  rules: simulatedRules,
})

export const simulateTool: Tool = {
  name: 'simulate_message',
  title: 'Simulate a message',
  description: "Who would have got it recently, and why others wouldn't.",
  kind: 'read',
  input: ASKED,
  run: async (deps, caller, args) => {
    const { access, signal, onProgress } = caller
    const asked = await findMessage(deps, caller, readSimulation(args, deps.clock.now()))
    if (isRefusal(asked)) return asked
    const simulation = await simulateMessage(deps, { access, ...asked }, { signal, onProgress })
    if (isRefusal(simulation)) return simulation
    const { skip, limit } = asked.input
    const { lines, until } = simulation
    const views = lines.slice(skip, skip + limit).map((line) => cleanLine(lineView(line, asked)))
    const data = takeWithin(views, PAGE_BYTES - COUNTS_BYTES)
    const shown = skip + data.length
    const nextCursor = shown < lines.length ? writeContactCursor({ id: shown, updatedAt: until }) : null
    return { untrusted: UNTRUSTED, ok: true, simulation: simulationView(simulation), data, nextCursor }
  },
}

const COUNTS_BYTES = 2 * 1024
const RULES_BYTES = 4 * 1024

const cleanLine = ({ email, why, rules, ...line }: ReturnType<typeof lineView>) => ({
  email: email === null ? null : cleanText(email),
  ...line,
  why: cleanText(why),
  rules: takeWithin(cleanRules(rules), RULES_BYTES),
})
