/** What the tests of the executable ask of its MCP server, as a client of the SDK. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Target } from './clients/run.ts'

/** Connects a client; the SDK checks every result against the schema that its tool shows. */
export async function connect({ url, key }: Target, query = ''): Promise<Client> {
  const client = new Client({ name: 'eventpost-tests', version: '1' })
  const headers = { Authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit: { headers } }))
  // after this, results are held against the schemas
  await client.listTools()
  return client
}

/** Arguments with which every tool does something. */
export const argumentsFor = (app: string): Record<string, Record<string, unknown>> => ({
  add_contact: { app, email: 'ada@example.com', firstName: 'Ada' },
  get_contact: { app, email: 'ada@example.com' },
  get_integration_code: { app, language: 'node' },
  get_key_info: {},
  get_setup_status: { app },
  get_stats: { app },
  list_event_names: { app },
  list_events: { app },
  search_contacts: { app },
  send_event: {
    app,
    email: 'ada@example.com',
    event: 'results_ready',
    properties: { x: 'canary' },
    createContact: true,
  },
  update_contact: { app, email: 'ada@example.com', lastName: 'Lovelace' },
})
