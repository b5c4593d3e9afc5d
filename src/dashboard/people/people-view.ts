import { DAY_MS } from '../../core/clock.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { lastDays } from '../../deliveries/results.ts'
import { PEOPLE_SORTS, type PeopleCursor, type PeopleFilter, type PeopleSort } from '../../people/people-lists.ts'
import { cutText } from '../../core/visible-text.ts'
import { RANGE_DAYS } from '../layout/days.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { createQuerySealer } from '../layout/sealed-query.ts'
import { STATUSES } from './person-labels.tsx'

/** Choices for the last page view. */
export const SEEN_CHOICES = {
  '1': { label: 'In the last 24 hours', filter: (now: number) => ({ since: now - DAY_MS }) },
  '7': { label: 'In the last 7 days', filter: (now: number) => ({ since: now - 7 * DAY_MS }) },
  '30': { label: 'In the last 30 days', filter: (now: number) => ({ since: now - 30 * DAY_MS }) },
  'before-7': { label: 'More than 7 days ago', filter: (now: number) => ({ before: now - 7 * DAY_MS }) },
  'before-30': { label: 'More than 30 days ago', filter: (now: number) => ({ before: now - 30 * DAY_MS }) },
  never: { label: 'Never', filter: () => 'never' as const },
} satisfies Record<string, { label: string; filter: (now: number) => PeopleFilter['seen'] }>

/** What emails did for a person. */
export const EMAIL_CHOICES = {
  returned: { label: 'Came back after an email', ofMessage: 'Came back after', result: 'cameBack' },
  sent: { label: 'Was emailed', ofMessage: 'Was emailed', result: 'emailed' },
  'not-sent': { label: 'Was not emailed', ofMessage: 'Was not emailed', result: 'notEmailed' },
} satisfies Record<string, { label: string; ofMessage: string; result: NonNullable<PeopleFilter['email']>['result'] }>
export type EmailChoice = keyof typeof EMAIL_CHOICES

/** When they came back or were emailed: days (UTC) up to today, as on Overview. */
export type EmailDays = `${(typeof RANGE_DAYS)[number]}`
export const EMAIL_DAYS = Object.fromEntries(RANGE_DAYS.map((days) => [days, `In the last ${days} days`])) as Record<
  EmailDays,
  string
>

/**
 * As typed; empty = not filtered. `did` is "no" for people who did not do the event. `message` and `days` belong to
 * `emails`.
 */
const TEXTS = [
  'search',
  'emails',
  'days',
  'message',
  'tag',
  'status',
  'field',
  'value',
  'event',
  'did',
  'seen',
] as const
export type FilterTexts = Record<(typeof TEXTS)[number], string>
/** May be personal data, so URLs contain them encrypted. */
const SEALED = ['search', 'field', 'value'] as const
const OPEN = ['emails', 'days', 'message', 'tag', 'status', 'event', 'did', 'seen'] as const

export type PeopleView = { texts: FilterTexts; sort: PeopleSort; after: PeopleCursor | null }

const isOf = <Name extends string>(names: Record<Name, unknown>, text: string): text is Name =>
  Object.hasOwn(names, text)

/** Drops what is incomplete or unknown. */
function cleanTexts(texts: FilterTexts): FilterTexts {
  const event = texts.event.trim()
  const field = texts.field.trim()
  const message = readPublicId('msg', texts.message) === null ? '' : texts.message
  const days = isOf(EMAIL_DAYS, texts.days) ? texts.days : ''
  return {
    search: texts.search.trim(),
    emails: isOf(EMAIL_CHOICES, texts.emails) ? texts.emails : message === '' && days === '' ? '' : 'sent',
    days,
    message,
    tag: texts.tag.trim(),
    status: isOf(STATUSES, texts.status) ? texts.status : '',
    field,
    value: field === '' ? '' : texts.value.trim(),
    event,
    did: event !== '' && texts.did === 'no' ? 'no' : '',
    seen: isOf(SEEN_CHOICES, texts.seen) ? texts.seen : '',
  }
}

/** Encrypted in URLs: searches, and the last person of a page. */
export function createViewPaths(key: string, appId: string) {
  const { seal, open } = createQuerySealer(key, `people ${appId}`)
  const queryOf = ({ texts, sort, after }: PeopleView): URLSearchParams => {
    const query = new URLSearchParams()
    const personal = SEALED.map((name) => texts[name])
    if (personal.some((text) => text !== '')) query.set('find', seal(personal))
    for (const name of OPEN) if (texts[name] !== '') query.set(name, texts[name])
    if (sort !== 'newest') query.set('sort', sort)
    if (after) query.set('after', seal([after.key, after.id]))
    return query
  }
  const pathTo = (page: string, query: URLSearchParams): string =>
    `${pathOf(appId, 'people')}${page}${query.size === 0 ? '' : `?${query}`}`

  return {
    read(url: string): PeopleView {
      const query = new URL(url).searchParams
      const [found, after] = [open(query.get('find')), open(query.get('after'))]
      const personal = Array.isArray(found) ? found.map(String) : []
      const texts = Object.fromEntries(
        TEXTS.map((name) => [name, personal[SEALED.findIndex((one) => one === name)] ?? query.get(name) ?? '']),
      ) as FilterTexts
      for (const [index, name] of SEALED.entries()) texts[name] = personal[index] ?? ''
      const sort = PEOPLE_SORTS.find((one) => one === query.get('sort')) ?? 'newest'
      return { texts: cleanTexts(texts), sort, after: readCursor(after) }
    },
    pathOf: (view: PeopleView): string => pathTo('', queryOf(view)),
    exportPath: (view: PeopleView, format: string): string => {
      const query = queryOf({ ...view, after: null })
      query.set('format', format)
      return pathTo('/export', query)
    },
  }
}

/** To the people who have a value in a field. */
export const withFieldPath = (key: string, appId: string, field: string): string =>
  createViewPaths(key, appId).pathOf({ texts: { ...NO_FILTER, field }, sort: 'newest', after: null })

export type ViewPaths = ReturnType<typeof createViewPaths>

function readCursor(found: unknown): PeopleCursor | null {
  if (!Array.isArray(found) || typeof found[1] !== 'number') return null
  const [key, id] = found as unknown[]
  const isKey = key === null || typeof key === 'string' || typeof key === 'number'
  return isKey && typeof id === 'number' ? { key, id } : null
}

export function readFilterForm(form: FormInput): PeopleView {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, form.text(name)])) as FilterTexts
  const sort = PEOPLE_SORTS.find((one) => one === form.text('sort')) ?? 'newest'
  return { texts: cleanTexts(texts), sort, after: null }
}

export function toFilter(texts: FilterTexts, now: number): PeopleFilter {
  const { search, emails, days, message, tag, status, field, value, event, did, seen } = texts
  const since = isOf(EMAIL_DAYS, days) ? lastDays(Number(days), now).from * DAY_MS : null
  return {
    search: search === '' ? null : search,
    email: isOf(EMAIL_CHOICES, emails)
      ? { result: EMAIL_CHOICES[emails].result, messageId: readPublicId('msg', message), since }
      : null,
    tag: tag === '' ? null : tag,
    status: isOf(STATUSES, status) ? status : null,
    field: field === '' ? null : { name: field, value: value === '' ? null : value },
    event: event === '' ? null : { name: event, isDone: did !== 'no' },
    seen: isOf(SEEN_CHOICES, seen) ? SEEN_CHOICES[seen].filter(now) : null,
  }
}

export type Chip = { name: string; value: string; without: FilterTexts }

type MessageName = { id: number; name: string }

export const isFiltered = (texts: FilterTexts): boolean => TEXTS.some((name) => texts[name] !== '')

/** "who came back after an email in the last 7 days" */
function nameEmails({ emails, days }: FilterTexts): string {
  const who = isOf(EMAIL_CHOICES, emails) ? `who ${EMAIL_CHOICES[emails].label.toLowerCase()}` : ''
  return isOf(EMAIL_DAYS, days) ? `${who} ${EMAIL_DAYS[days].toLowerCase()}` : who
}

/** Names of the filters in use, without what may be personal data. */
export function listFilters(texts: FilterTexts): string[] {
  const names = {
    search: 'search',
    message: 'message',
    emails: nameEmails(texts),
    tag: 'tag',
    status: 'status',
    field: 'field',
    event: 'event',
    seen: 'last page view',
  } satisfies Partial<FilterTexts>
  return Object.entries(names).flatMap(([name, words]) => (texts[name as keyof typeof names] === '' ? [] : [words]))
}

/** One for each filter; `without`: the others. */
export function listChips(texts: FilterTexts, messages: MessageName[]): Chip[] {
  const { search, emails, days, message, tag, status, field, value, event, did, seen } = texts
  const chips: (Chip | null)[] = [
    search === '' ? null : { name: 'Search', value: search, without: { ...texts, search: '' } },
    isOf(EMAIL_CHOICES, emails)
      ? {
          name: describeEmails(emails, message, messages),
          value: isOf(EMAIL_DAYS, days) ? EMAIL_DAYS[days].toLowerCase() : 'at any time',
          without: { ...texts, emails: '', days: '', message: '' },
        }
      : null,
    tag === '' ? null : { name: 'Tag', value: tag, without: { ...texts, tag: '' } },
    isOf(STATUSES, status) ? { name: 'Status', value: STATUSES[status].word, without: { ...texts, status: '' } } : null,
    field === ''
      ? null
      : {
          name: `Field ${field}`,
          value: value === '' ? 'any value' : value,
          without: { ...texts, field: '', value: '' },
        },
    event === ''
      ? null
      : {
          name: did === 'no' ? 'Event never happened' : 'Event happened',
          value: event,
          without: { ...texts, event: '', did: '' },
        },
    isOf(SEEN_CHOICES, seen)
      ? { name: 'Last page view', value: SEEN_CHOICES[seen].label, without: { ...texts, seen: '' } }
      : null,
  ]
  return chips.filter((chip) => chip !== null)
}

/** Fits into a chip with the words around it. */
const NAME_MOST = 40

function describeEmails(choice: EmailChoice, message: string, messages: MessageName[]): string {
  const { label, ofMessage } = EMAIL_CHOICES[choice]
  const id = readPublicId('msg', message)
  if (id === null) return label
  const { text, isCut } = cutText(messages.find((one) => one.id === id)?.name ?? 'unknown message', NAME_MOST)
  return `${ofMessage} “${isCut ? `${text.trimEnd()}…` : text}”`
}

/** To the people of an email filter. */
export function peoplePath(
  appId: string,
  { emails, days, messageId = null }: { emails: EmailChoice; days?: EmailDays; messageId?: number | null },
): string {
  const texts = { emails, days: days ?? '', message: messageId === null ? '' : publicId('msg', messageId) }
  const query = new URLSearchParams(Object.entries(texts).filter(([, text]) => text !== ''))
  return `${pathOf(appId, 'people')}?${query}`
}

export const NO_FILTER = Object.fromEntries(TEXTS.map((name) => [name, ''])) as FilterTexts
