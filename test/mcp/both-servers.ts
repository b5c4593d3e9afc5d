/** Makes the same request over HTTP and MCP, each on its own server. */
import { createTestServer, type TestServer } from '../helper.ts'
import { callTool } from './client.ts'

export type BothServers = { http: TestServer; mcp: TestServer; close(): Promise<void> }

export async function startBothServers(): Promise<BothServers> {
  const [http, mcp] = [await createTestServer(), await createTestServer()]
  const close = async (): Promise<void> => {
    await http.close()
    await mcp.close()
  }
  return { http, mcp, close }
}

const blot = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/"(con|evt|app|req)_[0-9a-z]+"/g, '"$1"')
      // intended differences
      .replaceAll('"via":"mcp"', '"via":"api"')
      .replaceAll(/ Known fields: [^.]*\./g, '')
      .replaceAll(' Copy the app ID from the Activation page.', '')
      .replaceAll(/ [a-z]+_[a-z_]+ (lists|finds) [\w ]+\./g, ''),
  )

/** Reads everything through one interface. */
export async function readAll(server: TestServer): Promise<unknown> {
  const app = server.first.appId
  const lists = ['contacts', 'events'].map(
    async (what) => (await server.call('GET', `/api/v1/${what}?app=${app}`)).body,
  )
  return blot(await Promise.all(lists))
}

/** `given` gets the app's ID; HTTP has its own name for it. */
export async function callBoth(
  { http, mcp }: BothServers,
  { method, path, tool }: { method: string; path: string; tool: string },
  given: (app: string) => Record<string, unknown>,
): Promise<{ http: unknown; mcp: unknown }> {
  const args = given(http.first.appId)
  const asked = method === 'GET' ? `${path}?${toQuery(args)}` : path
  const { status, body } = await http.call(method, asked, method === 'GET' ? {} : { body: args })
  const called = await callTool(mcp, tool, given(mcp.first.appId))
  // HTTP doesn't return queued messages
  const { untrusted: _, messages: __, ...data } = called.data
  return { http: blot([status < 400, body]), mcp: blot([!called.isError, data]) }
}

const toQuery = (args: Record<string, unknown>): string =>
  new URLSearchParams(Object.entries(args).map(([name, value]) => [name, String(value)])).toString()
