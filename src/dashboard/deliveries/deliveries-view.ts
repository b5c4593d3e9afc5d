import { DAY_MS } from '../../core/clock.ts'
import { idAt, publicId, readPublicId } from '../../core/ids.ts'
import { fromLocalTime, localTime } from '../../core/local-time.ts'
import {
  type DeliveryFilter,
  type DeliveryOutcome,
  HELD_BACK,
  MAX_REASON_CHARACTERS,
  OUTCOMES,
} from '../../deliveries/delivery-lists.ts'
import { readDay } from '../layout/days.ts'
import { readStateFilter, type StateFilter, statesOf } from './delivery-labels.tsx'

/**
 * The filters of the page; null and '' are any. Days are such as 2026-05-03, of the app's timezone unless `isUtc`.
 * `isLead`: one row per email, without events that joined it.
 */
export type DeliveriesView = {
  contactId: number | null
  messageId: number | null
  state: StateFilter | null
  reason: string
  outcome: DeliveryOutcome | null
  from: string
  to: string
  isUtc: boolean
  isLead: boolean
}

export const FILTERS = [
  'contactId',
  'messageId',
  'state',
  'reason',
  'outcome',
  'from',
  'to',
  'isUtc',
  'isLead',
] as const
export type FilterName = (typeof FILTERS)[number]

export const FILTER_NAMES: Record<FilterName, string> = {
  contactId: 'Person',
  messageId: 'Message',
  state: 'State',
  reason: 'Reason',
  outcome: 'Result',
  from: 'Created from',
  to: 'Created to',
  isUtc: 'Days',
  isLead: 'Joined events',
}

export const NO_FILTER: DeliveriesView = {
  contactId: null,
  messageId: null,
  state: null,
  reason: '',
  outcome: null,
  from: '',
  to: '',
  isUtc: false,
  isLead: false,
}

const isOutcome = (text: string): text is DeliveryOutcome => Object.hasOwn(OUTCOMES, text)

/** From a URL or a form. An invalid filter counts as not set. */
export function readView(textOf: (name: string) => string): DeliveriesView {
  const outcome = textOf('outcome')
  return {
    contactId: readPublicId('con', textOf('person')),
    messageId: readPublicId('msg', textOf('message')),
    state: readStateFilter(textOf('state')),
    reason: textOf('reason').slice(0, MAX_REASON_CHARACTERS),
    outcome: isOutcome(outcome) ? outcome : null,
    from: cleanDay(textOf('from')),
    to: cleanDay(textOf('to')),
    isUtc: textOf('days') === UTC,
    isLead: textOf('rows') === EMAILS,
  }
}

const UTC = 'utc'
const EMAILS = 'emails'

/** The hidden fields: filters of the URL that the form doesn't show. */
export const listKept = ({ isUtc, isLead }: DeliveriesView): { name: string; value: string }[] => [
  ...(isUtc ? [{ name: 'days', value: UTC }] : []),
  ...(isLead ? [{ name: 'rows', value: EMAILS }] : []),
]

export const readAddress = (url: string): DeliveriesView => {
  const { searchParams } = new URL(url)
  return readView((name) => searchParams.get(name) ?? '')
}

const cleanDay = (text: string): string => (readDay(text) === null ? '' : text)

export const listFilters = (view: DeliveriesView): FilterName[] =>
  FILTERS.filter((name) => view[name] !== NO_FILTER[name])

export const isNarrowed = (view: DeliveriesView): boolean => listFilters(view).length > 0

function writeView(view: DeliveriesView): URLSearchParams {
  const { contactId, messageId, state, reason, outcome, from, to } = view
  const texts = {
    person: contactId === null ? '' : publicId('con', contactId),
    message: messageId === null ? '' : publicId('msg', messageId),
    state: state ?? '',
    reason,
    outcome: outcome ?? '',
    from,
    to,
    ...Object.fromEntries(listKept(view).map(({ name, value }) => [name, value])),
  }
  return new URLSearchParams(Object.entries(texts).filter(([, text]) => text !== ''))
}

type Page = 'deliveries' | 'deliveries/export' | 'deliveries/resend' | 'deliveries-live'

/** `before`: the last delivery of the previous page. `next`: the newest failed email that is left to send. */
type Place = { page?: Page; before?: number | null; next?: number | null }

export function deliveriesPath(
  appId: string,
  view: Partial<DeliveriesView>,
  { page = 'deliveries', before = null, next = null }: Place = {},
): string {
  const query = writeView({ ...NO_FILTER, ...view })
  if (before !== null) query.set('before', publicId('dlv', before))
  if (next !== null) query.set('next', publicId('dlv', next))
  return `/apps/${appId}/${page}${query.size === 0 ? '' : `?${query}`}`
}

/** The first of the last days, up to today. */
export const daysAgo = (days: number, now: number, zone: string): string =>
  new Date(localTime(now, zone) - (days - 1) * DAY_MS).toISOString().slice(0, 10)

/** Days of the app's timezone in which the delivery was created; the ID contains that time. */
export function toFilter(view: DeliveriesView, zone: string): DeliveryFilter {
  const { contactId, messageId, state, reason, outcome, from, to, isUtc, isLead } = view
  const startOf = (day: string, later = 0): number => idAt(fromLocalTime(Date.parse(day) + later, isUtc ? 'UTC' : zone))
  return {
    contactId,
    messageId,
    states: state === null ? null : statesOf(state),
    or: state === 'decided' ? [{ state: 'skipped', reason: HELD_BACK }] : [],
    reason: reason === '' ? null : reason,
    outcome,
    isLead,
    after: from === '' ? 0 : startOf(from) - 1,
    before: to === '' ? null : startOf(to, DAY_MS),
  }
}
