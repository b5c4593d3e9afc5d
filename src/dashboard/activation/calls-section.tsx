/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import type { KeyRow } from '../../accounts/accounts.ts'
import type { CallRow } from '../../accounts/call-log.ts'
import { Badge } from '../ui/badge.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'

/** Rows on the page. All calls are stored for 90 days. */
export const SHOWN_CALLS = 20

type CallsProps = { calls: CallRow[]; keys: KeyRow[]; now: number }
type Row = CallRow & { place: number }

export const CallsSection = ({ calls, keys, now }: CallsProps) => (
  <section>
    <h2>MCP activity</h2>
    {calls.length === 0 ? (
      <p>
        No AI client has connected yet. <a href="/docs/mcp">Connect one</a> with a Standard or Manage key.
      </p>
    ) : (
      <>
        <p>Recent calls by AI clients. Arguments and results aren't stored.</p>
        <Table
          label="MCP calls"
          columns={columnsOf(keys, now)}
          rows={calls.map((call, place): Row => ({ ...call, place }))}
          idOf={({ place }) => String(place)}
        />
      </>
    )}
  </section>
)

const columnsOf = (keys: KeyRow[], now: number): Column<Row>[] => [
  { name: 'When', cell: ({ calledAt }) => <Time at={calledAt} now={now} /> },
  { name: 'Tool', cell: ({ tool }) => <code>{tool}</code> },
  { name: 'Outcome', cell: ({ outcome }) => <Outcome outcome={outcome} /> },
  { name: 'Duration', cell: ({ ms }) => `${formatCount(ms)} ms` },
  { name: 'Client', cell: ({ client }) => client ?? 'Unknown' },
  { name: 'Key', cell: ({ keyId }) => keys.find(({ id }) => id === keyId)?.name ?? keyId },
]

const OUTCOMES = new Map([
  ['invalid_field', 'Invalid arguments'],
  ['tool_not_open', 'Tool not available'],
  ['app_not_found', 'Unknown app'],
  ['contact_not_found', 'Unknown person'],
  ['message_not_found', 'Unknown message'],
  ['delivery_not_found', 'Unknown delivery'],
  ['message_changed', 'Changed by someone else'],
  ['message_name_taken', 'Name taken'],
  ['plan_limit_reached', 'Plan limit reached'],
  ['rate_limited', 'Limit reached'],
  ['unavailable', 'Unavailable'],
  ['internal_error', 'Failed'],
])

const Outcome = ({ outcome }: { outcome: string }) =>
  outcome === 'ok' ? <Badge mood="good">Done</Badge> : <Badge mood="caution">{OUTCOMES.get(outcome) ?? outcome}</Badge>
