import { Type } from '@sinclair/typebox'
import { EVENT_NAME_PATTERN } from '../../core/field-patterns.ts'
import { addError } from '../../core/field-readers.ts'
import { readLimit } from '../../http/queries.ts'
import { type FieldError, isRefusal } from '../../core/refusals.ts'
import { listEventNames as listNames, MOST_STAT_DAYS, readStats } from '../../events/stats.ts'
import { findAsked, readAbout } from '../arguments.ts'
import { UNTRUSTED } from '../untrusted.ts'
import { APP, outputSchema, LIST, PAGE, takes, type Tool } from './tool.ts'

const DEFAULT_DAYS = 7
const EVENT_NAME = new RegExp(EVENT_NAME_PATTERN)

export const listEventNames: Tool = {
  name: 'list_event_names',
  title: 'Names of events',
  description: 'Of the last 30 days, by name, with counts.',
  kind: 'read',
  input: takes({ app: APP, ...PAGE }),
  output: LIST,
  run: async (deps, { access }, args, known) => {
    const asked = findAsked(
      access,
      readAbout(args, known, ({ cursor, limit }, errors) => ({
        after: readCursor(cursor, errors),
        limit: readLimit(limit, errors),
      })),
    )
    if (isRefusal(asked)) return asked
    const { after, limit } = asked.input
    const names = await listNames(deps, asked.app, { after, limit: limit + 1 })
    const data = names.slice(0, limit).map(({ name, count }) => ({ event: name, count }))
    const nextCursor = names.length > limit ? (data.at(-1)?.event ?? null) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

function readCursor(cursor: string | undefined, errors: FieldError[]): string | null {
  if (cursor !== undefined && !EVENT_NAME.test(cursor))
    addError(errors, 'cursor', 'invalid', 'Send `nextCursor` of the page before, with the same filters.')
  return cursor ?? null
}

export const getStats: Tool = {
  name: 'get_stats',
  title: 'How much came',
  description: 'Counts of the last days (UTC): the 20 most frequent events, by day, new people of the month.',
  kind: 'read',
  input: takes({ app: APP, days: Type.Optional(Type.Integer({ maximum: MOST_STAT_DAYS })) }),
  output: outputSchema('app', 'byName', 'byDay', 'newPeople'),
  run: async (deps, { access }, args, known) => {
    const asked = findAsked(
      access,
      readAbout(args, known, ({ days }, errors) => ({ days: readDays(days, errors) })),
    )
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const stats = await readStats(deps, { access, app, days: input.days })
    return { untrusted: UNTRUSTED, ok: true, app: app.publicId, ...stats }
  },
}

function readDays(text: string | undefined, errors: FieldError[]): number {
  if (text === undefined) return DEFAULT_DAYS
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > MOST_STAT_DAYS)
    addError(errors, 'days', 'invalid', `Send a whole number from 1 to ${MOST_STAT_DAYS}.`)
  return days
}
