import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Target } from './clients/run.ts'

/** The SDK checks every result against the tool's schema. */
export async function connect({ url, key }: Target, query = ''): Promise<Client> {
  const client = new Client({ name: 'eventpost-tests', version: '1' })
  const headers = { Authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit: { headers } }))
  // from now on results are checked
  await client.listTools()
  return client
}

const CANARY = { name: 'Canary', trigger: { event: 'x' }, mail: { subject: 'Hello', body: 'Hello canary' } }

/** Two drafts, the first one previewed and the other one saved, and a member. */
export type Known = {
  messageId: string
  otherId: string
  basedOn: string
  message: object
  token: string
  member: string
}

const NOTHING: Known = {
  messageId: 'msg_00000000000',
  otherId: 'msg_00000000001',
  basedOn: '2026-01-01T00:00:00Z',
  message: CANARY,
  token: '',
  member: 'x@example.com',
}

type Call = (name: string, args: object) => Promise<Record<string, unknown>>

export async function findKnown(call: Call, app: string, member: string): Promise<Known> {
  const { data = [] } = (await call('list_messages', { app })) as { data?: { id: string }[] }
  const [messageId = '', otherId = ''] = data.map(({ id }) => id)
  const { message: read, updatedAt } = await call('get_message', { app, messageId: otherId })
  const message = { ...CANARY, name: (read as { name?: string } | undefined)?.name ?? CANARY.name }
  const saved = await call('save_message_draft', { app, messageId: otherId, basedOn: updatedAt, message })
  const basedOn = String(saved.updatedAt ?? updatedAt)
  const { token } = await call('preview_message', { app, messageId })
  return { messageId, otherId, basedOn, message, token: String(token), member }
}

/** Arguments with which every tool works, repeatedly. */
export const argumentsFor = (app: string, known: Known = NOTHING): Record<string, Record<string, unknown>> => ({
  add_contact: { app, email: 'ada@example.com', firstName: 'Ada' },
  explain_delivery: { app, messageId: known.messageId, email: 'ada@example.com' },
  get_contact: { app, email: 'ada@example.com' },
  get_docs: { page: 'messages' },
  get_integration_code: { app, language: 'node' },
  get_key_info: {},
  get_message: { app, messageId: known.messageId },
  get_setup_status: { app },
  get_stats: { app },
  list_deliveries: { app, messageId: known.messageId },
  list_event_names: { app },
  list_events: { app },
  list_messages: { app },
  preview_message: { app, messageId: known.messageId },
  save_message_draft: {
    app,
    messageId: known.otherId,
    basedOn: known.basedOn,
    message: known.message,
  },
  search_contacts: { app },
  send_event: {
    app,
    email: 'ada@example.com',
    event: 'results_ready',
    properties: { url: 'https://first.example/canary', headline: 'canary' },
    createContact: true,
  },
  send_test_message: { app, messageId: known.messageId, to: known.member },
  set_message_status: { app, messageId: known.messageId, status: 'live', token: known.token },
  simulate_message: { app, messageId: known.messageId },
  update_contact: { app, email: 'ada@example.com', lastName: 'Lovelace' },
})
