import type { Tool as ToolDescription } from '@modelcontextprotocol/sdk/types.js'
import { Type } from '@sinclair/typebox'
import type { Caller } from '../caller.ts'
import { getIntegrationCode, getKeyInfo, getSetupStatus } from './account.ts'
import { addContact, getContact, searchContacts, updateContact } from './contacts.ts'
import { getDocs } from './docs.ts'
import { listDeliveries } from './deliveries.ts'
import { explainTool } from './explanations.ts'
import { listEvents, sendEvent } from './events.ts'
import { getMessage, listMessages } from './message-reads.ts'
import { saveMessageDraft, setStatus } from './messages.ts'
import { previewTool, sendTestMessage } from './previews.ts'
import { simulateTool } from './simulations.ts'
import { getStats, listEventNames } from './stats.ts'
import type { Body } from '../../core/inputs.ts'
import { refuseFields } from '../../core/refusals.ts'
import { findUnknown } from '../../http/queries.ts'
import type { Names } from '../arguments.ts'
import { forModels, takes, type Tool, type ToolDependencies } from './tool.ts'

export type { Tool }

/** Sorted, so that clients can cache the list byte for byte. */
const TOOLS: readonly Tool[] = [
  getIntegrationCode,
  getKeyInfo,
  getSetupStatus,
  getDocs,
  getContact,
  searchContacts,
  addContact,
  updateContact,
  listEvents,
  listEventNames,
  sendEvent,
  getStats,
  listMessages,
  getMessage,
  saveMessageDraft,
  setStatus,
  previewTool,
  sendTestMessage,
  simulateTool,
  listDeliveries,
  explainTool,
].sort((a, b) => (a.name < b.name ? -1 : 1))

export const TOOL_NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ name }) => name))

/** Clients rarely show the fields of results to models, and tools/list is bounded. */
const RESULT = { type: 'object' } as const

/** The entries of tools/list, which are the same for every caller. */
const DESCRIPTIONS = new Map(TOOLS.map((tool) => [tool, describe(tool)]))

const NAMES = new Map<Tool, Names>(TOOLS.map((tool) => [tool, new Set(Object.keys(tool.input.properties))]))

/** The schemas have `app` only, so the API's other name for it is refused here for all tools. */
export function runTool(tool: Tool, deps: ToolDependencies, caller: Caller, args: Body) {
  const names = NAMES.get(tool) ?? new Set()
  const { newsletter = null } = args
  return newsletter === null || !names.has('app')
    ? tool.run(deps, caller, args, names)
    : refuseFields(findUnknown({ newsletter: '' }, names))
}

/** Why a tool can't be called; null: it can. */
function findBar({ access, narrowing }: Caller, { kind, name }: Tool): string | null {
  if (kind === 'manage' && access.key.scope !== 'manage') return 'it requires a key with scope `manage`'
  if (kind !== 'read' && narrowing.readOnly) return '`read_only=true` in the URL allows only tools that read'
  return narrowing.tools?.has(name) === false ? "`tools` in the URL doesn't list it" : null
}

const isOpen = (caller: Caller, tool: Tool): boolean => findBar(caller, tool) === null

export function describeClosed(caller: Caller, name: string): string {
  const tool = TOOLS.find((one) => one.name === name)
  return `This tool is not available: ${(tool && findBar(caller, tool)) ?? 'there is no such tool'}.`
}

export const listTools = (caller: Caller): Tool[] => TOOLS.filter((tool) => isOpen(caller, tool))

export const findTool = (caller: Caller, name: string): Tool | undefined =>
  TOOLS.find((tool) => tool.name === name && isOpen(caller, tool))

/** A tool as tools/list shows it. */
export const describeTool = (tool: Tool): ToolDescription => DESCRIPTIONS.get(tool) ?? describe(tool)

/** With all four hints. Writing tools ignore unknown arguments with a warning, as the API does; others refuse them. */
function describe({ name, title, description, kind, hints = {}, input }: Tool): ToolDescription {
  const { additionalProperties: _, ...shape } = forModels(input)
  const { destructive = false, repeats = false, reachesOut = false } = hints
  return {
    name,
    title,
    description,
    inputSchema: { ...(kind === 'write' ? Type.Object({}) : takes({})), ...shape },
    outputSchema: RESULT,
    annotations: {
      readOnlyHint: kind === 'read',
      destructiveHint: destructive,
      idempotentHint: !repeats,
      openWorldHint: reachesOut,
    },
  }
}
