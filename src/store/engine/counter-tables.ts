/** Counts that triggers and groups of writes add to. PostgreSQL stores each in parts, and they are a view of the sums. */
export type CounterTable = { key: readonly string[]; counts: readonly string[] }

const REACHED = ['came_back', 'opened', 'reached_goal']

export const COUNTERS = {
  mail_days: { key: ['app_id', 'day'], counts: ['sent', 'bounced', 'complained'] },
  message_comparisons: {
    key: ['message_id', 'day', 'is_held_back', 'is_first', 'app_id'],
    counts: ['people', ...REACHED],
  },
  message_days: { key: ['message_id', 'day', 'outcome', 'reason', 'app_id'], counts: ['emails', ...REACHED] },
  message_reports: { key: ['message_id', 'day', 'app_id'], counts: ['delivered', 'bounced', 'complained'] },
  people_result_days: { key: ['app_id', 'kind', 'day'], counts: ['people'] },
} satisfies Record<string, CounterTable>
export type Counter = keyof typeof COUNTERS

/** The table of a counter on PostgreSQL. */
export const partsOf = (counter: string): string => `${counter}_parts`
