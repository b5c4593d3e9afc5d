import { setPasswordByLink } from '../../src/accounts/members.ts'
import type { Answer, Given, TestServer } from '../helper.ts'
import { findKnown } from './outside.ts'

export const MCP = '/mcp'

export type Called = {
  status: number
  /** without the request's ID, so that answers can be compared */
  text: string
  isError: boolean
  /** the result, or the API's error body */
  data: Record<string, unknown> & { data?: Record<string, unknown>[]; contact?: Record<string, unknown> }
  answer: Answer
}

/** `query` begins with a question mark. */
export type How = Given & { query?: string }

export const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })

export const rpc = (server: TestServer, method: string, params: object = {}, { query = '', ...given }: How = {}) =>
  server.call('POST', MCP + query, { body: message(method, params), ...given })

export async function callTool(server: TestServer, name: string, args: object = {}, how: How = {}): Promise<Called> {
  const answer = await rpc(server, 'tools/call', { name, arguments: args }, how)
  const { result } = answer.body as { result?: { content: { text: string }[]; isError?: boolean } }
  const [content] = result?.content ?? []
  return {
    status: answer.status,
    text: answer.text.replaceAll(/req_[0-9a-z]+/g, 'req'),
    isError: result?.isError === true,
    data: content ? (JSON.parse(content.text) as Called['data']) : {},
    answer,
  }
}

export async function ask<T>(server: TestServer, method: string, params: object = {}, how: How = {}): Promise<T> {
  const { body } = await rpc(server, method, params, how)
  return body.result as T
}

export type ToolRow = {
  name: string
  description: string
  inputSchema: { properties: Record<string, object>; required?: string[]; additionalProperties: boolean }
  outputSchema: object
  annotations: Record<string, boolean>
}

export const listTools = async (server: TestServer, how: How = {}): Promise<ToolRow[]> =>
  (await ask<{ tools: ToolRow[] }>(server, 'tools/list', {}, how)).tools

export type Managed = Awaited<ReturnType<typeof openManaged>>

/** The first owner accepts: invited members get no test emails. @returns the owner's address */
export async function joinFirst({ parts, first, clock }: TestServer): Promise<string> {
  const { store } = parts()
  await setPasswordByLink({ store, now: clock.now() }, first.inviteToken ?? '', 'no hash')
  const [owner] = await store.listMembers(first.accountId)
  return owner?.email ?? ''
}

/** A `manage` key and the first account's contents. `call` adds the app. */
export async function openManaged(server: TestServer) {
  const how = { key: (await server.makeKey('manage')).apiKey }
  const app = server.first.appId
  const owner = await joinFirst(server)
  const call = (name: string, args: object = {}): Promise<Called> => callTool(server, name, { app, ...args }, how)
  const known = await findKnown(async (name, args) => (await call(name, args)).data, app, owner)
  return { how, call, ...known }
}
