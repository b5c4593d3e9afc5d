import { DAY_MS } from '../../core/clock.ts'
import { fromLocalTime } from '../../core/local-time.ts'
import type { RequestFilter } from '../../store/requests.ts'
import { readDay } from '../layout/days.ts'
import { pathOf } from '../layout/frame.tsx'

/** The filters of the page, as in its address; '' is any. */
export type RequestsView = {
  kind: RequestFilter['kind']
  status: string
  code: string
  field: string
  key: string
  /** public app ID, NO_APP_NAME or OWN_OR_NO_APP */
  app: string
  /** days such as 2026-05-03 */
  from: string
  to: string
}

/** Filters beside the kind, in the order of the form. */
export const FILTERS = ['code', 'field', 'status', 'key', 'app', 'from', 'to'] as const
export type FilterName = (typeof FILTERS)[number]

export const FILTER_NAMES: Record<FilterName, string> = {
  code: 'Error code',
  field: 'Field',
  status: 'Status',
  key: 'Key',
  app: 'App',
  from: 'From',
  to: 'To',
}

/** Value of the app filter for requests whose app is not known. */
export const NO_APP_NAME = 'none'
/** For requests of the app whose page it is, and those whose app is not known. */
export const OWN_OR_NO_APP = 'own_or_none'

const MOST_FIELD_CHARACTERS = 100

const KINDS = ['refused', 'accepted', 'all'] as const

const EVERYTHING: RequestsView = {
  kind: 'refused',
  status: '',
  code: '',
  field: '',
  key: '',
  app: '',
  from: '',
  to: '',
}

export function readView(query: URLSearchParams): RequestsView {
  const textOf = (name: FilterName): string => query.get(name) ?? ''
  const fits = (name: FilterName, pattern: RegExp): string => (pattern.test(textOf(name)) ? textOf(name) : '')
  const day = (name: 'from' | 'to'): string => (readDay(textOf(name)) === null ? '' : textOf(name))
  return {
    kind: KINDS.find((kind) => kind === query.get('kind')) ?? 'refused',
    status: fits('status', /^[1-5]\d\d$/),
    code: fits('code', /^[a-z_]{1,40}$/),
    field: textOf('field').trim().slice(0, MOST_FIELD_CHARACTERS),
    key: fits('key', /^\w{1,40}$/),
    app: fits('app', /^\w{1,40}$/),
    from: day('from'),
    to: day('to'),
  }
}

export const listFilters = (view: RequestsView): FilterName[] => FILTERS.filter((name) => view[name] !== '')

export const isNarrowed = (view: RequestsView): boolean => listFilters(view).length > 0

export function requestsPath(appId: string, view: Partial<RequestsView>, more: Record<string, string> = {}): string {
  const query = writeView({ ...EVERYTHING, ...view }, more)
  return `${pathOf(appId, 'requests')}${query.size === 0 ? '' : `?${query}`}`
}

export const exportPath = (appId: string, view: RequestsView): string =>
  `${pathOf(appId, 'requests')}/export?${writeView(view)}`

export function writeView(view: RequestsView, more: Record<string, string> = {}): URLSearchParams {
  const query = new URLSearchParams()
  if (view.kind !== 'refused') query.set('kind', view.kind)
  for (const name of FILTERS) if (view[name] !== '') query.set(name, view[name])
  for (const [name, value] of Object.entries(more)) query.set(name, value)
  return query
}

/** Days are those of the zone. */
export function toFilter(
  { kind, status, code, field, key, from, to }: RequestsView,
  { appIds, zone }: Pick<RequestFilter, 'appIds'> & { zone: string },
): RequestFilter {
  const startOf = (day: string): number => fromLocalTime(Date.parse(day), zone)
  return {
    kind,
    status: status === '' ? null : Number(status),
    code: code === '' ? null : code,
    field: field === '' ? null : field,
    caller: key === '' ? null : key,
    appIds,
    since: from === '' ? null : startOf(from),
    until: to === '' ? null : fromLocalTime(Date.parse(to) + DAY_MS, zone),
  }
}
