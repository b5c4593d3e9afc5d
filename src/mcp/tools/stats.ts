import { Type } from '@sinclair/typebox'
import { EVENT_NAME_PATTERN } from '../../core/field-patterns.ts'
import { DEFAULT_PAGE_ITEMS } from '../../core/field-limits.ts'
import { count, CURSOR, PAGE } from '../../http/queries.ts'
import { isRefusal } from '../../core/refusals.ts'
import { listEventNames as listNames, MOST_STAT_DAYS, readStats } from '../../events/stats.ts'
import { lastDays, readAppResults } from '../../deliveries/results.ts'
import { appResultsView } from '../../deliveries/message-views.ts'
import { createArguments, findAsked } from '../arguments.ts'
import { UNTRUSTED } from '../untrusted.ts'
import { APP, takes, type Tool } from './tool.ts'

const DEFAULT_DAYS = 7

/** The cursor is the last name of the page before. */
const NAMES = takes({
  app: APP,
  cursor: Type.Optional({ ...CURSOR, pattern: EVENT_NAME_PATTERN }),
  limit: PAGE.limit,
})

const readNames = createArguments({
  schema: NAMES,
  clean: ({ cursor = null, limit = DEFAULT_PAGE_ITEMS }) => ({ after: cursor, limit }),
})

export const listEventNames: Tool = {
  name: 'list_event_names',
  title: 'List event names',
  description: 'Names and counts, last 30 days.',
  kind: 'read',
  input: NAMES,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readNames(args, null))
    if (isRefusal(asked)) return asked
    const { after, limit } = asked.input
    const names = await listNames(deps, asked.app, { after, limit: limit + 1 })
    const data = names.slice(0, limit).map(({ name, count }) => ({ event: name, count }))
    const nextCursor = names.length > limit ? (data.at(-1)?.event ?? null) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

const STATS = takes({ app: APP, days: Type.Optional(count(MOST_STAT_DAYS)) })
const readDays = createArguments({ schema: STATS, clean: ({ days = DEFAULT_DAYS }) => ({ days }) })

export const getStats: Tool = {
  name: 'get_stats',
  title: 'Get stats',
  description: 'Top 20 events by UTC day, new people, emails.',
  kind: 'read',
  input: STATS,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readDays(args, null))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const stats = await readStats(deps, { access: caller.access, app, days: input.days })
    const results = await readAppResults(deps.store, app.id, lastDays(input.days, deps.clock.now()))
    return { untrusted: UNTRUSTED, ok: true, app: app.publicId, ...stats, emails: appResultsView(results) }
  },
}
