/** @jsxImportSource preact */
import { formatCount, MOST_COUNTED } from '../../core/count.ts'
import { hasRole } from '../../accounts/members.ts'
import { publicId } from '../../core/ids.ts'
import type { MessageRow } from '../../messages/messages.ts'
import {
  EXPORT_FORMATS,
  type FoundPerson,
  PEOPLE_SORTS,
  type PeopleCursor,
  type PeopleSort,
} from '../../people/people-lists.ts'
import { personPath } from '../events/feed.tsx'
import { describeEventName } from '../events/event-labels.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { Chips } from '../ui/chips.tsx'
import { Select } from '../ui/choice.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { FieldFrame } from '../ui/field.tsx'
import { FilterGroup, FilterMenu } from '../ui/filter-menu.tsx'
import { Finder } from '../ui/finder.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'
import {
  EMAIL_CHOICES,
  EMAIL_DAYS,
  type FilterTexts,
  isFiltered,
  listChips,
  NO_FILTER,
  type PeopleView,
  SEEN_CHOICES,
  type ViewPaths,
} from './people-view.ts'
import { nameOfPerson, STATUSES, StatusBadge } from './person-labels.tsx'
import { None, Tags } from './tags.tsx'
import { upperFirst } from '../../core/text.ts'

type PeopleProps = {
  viewer: Viewer
  view: PeopleView
  paths: ViewPaths
  people: FoundPerson[]
  next: PeopleCursor | null
  count: { people: number; isExact: boolean }
  suggested: { tags: string[]; fields: string[]; events: string[] }
  messages: MessageRow[]
  /** share of the people from before the upgrade who are in the search index, from 0 to 1 */
  indexed: number
  now: number
}

export const PeoplePage = (props: PeopleProps) => {
  const { viewer, view, people, indexed } = props
  const isEmpty = people.length === 0 && view.after === null && !isFiltered(view.texts)
  return (
    <Frame
      viewer={viewer}
      page="people"
      title="People"
      state={isEmpty ? 'No people yet.' : describeCount(props)}
      action={hasRole(viewer.member.role, 'editor') && <AddLink viewer={viewer} />}
    >
      {indexed < 1 && (
        <Notice kind="info">
          Indexing people who were added before the upgrade: {Math.floor(indexed * 100)}% done. Until it finishes,
          searches and filters may miss some.
        </Notice>
      )}
      {isEmpty ? <Nobody viewer={viewer} /> : <PeopleList {...props} />}
    </Frame>
  )
}

const AddLink = ({ viewer }: { viewer: Viewer }) => (
  <ButtonLink kind="primary" href={`${pathOf(viewer.app.publicId, 'people')}/new`}>
    Add person
  </ButtonLink>
)

const SORTS: Record<PeopleSort, { label: string; order: string }> = {
  newest: { label: 'Newest', order: 'newest first' },
  name: { label: 'Name', order: 'by name' },
  email: { label: 'Email', order: 'by email' },
  seen: { label: 'Last page view', order: 'most recent page view first' },
}

/** An inexact count is a lower bound, shown as "At least 12" or "10,000+". */
const formatPeople = ({ people, isExact }: PeopleProps['count']): string => {
  const number = formatCount(people)
  return isExact ? number : people < MOST_COUNTED ? `At least ${number}` : `${number}+`
}

/** Next to times of emails, "newest" could be about them. */
const orderOf = ({ texts, sort }: PeopleView): string =>
  sort === 'newest' && (texts.emails !== '' || texts.days !== '') ? 'most recently added first' : SORTS[sort].order

function describeCount({ count, view }: PeopleProps): string {
  const [{ texts }, order] = [view, orderOf(view)]
  if (count.people === 0 && count.isExact) return 'Nobody matches.'
  if (count.people === 0) return `${upperFirst(order)}.`
  const isOne = count.people === 1
  const people = `${formatPeople(count)} ${isOne ? 'person' : 'people'}`
  return `${people}${isFiltered(texts) ? (isOne ? ' matches' : ' match') : ''}, ${order}.`
}

function PeopleList(props: PeopleProps) {
  const { view, paths, people, next } = props
  return (
    <>
      <div class="list-tools">
        <PeopleFinder {...props} />
        <Sorts {...props} />
      </div>
      <Chips {...chipsOf(props)} />
      {people.length === 0 ? (
        <NoMatch {...props} />
      ) : (
        <Table
          label={`People, ${orderOf(view)}`}
          columns={columnsOf(props)}
          rows={people}
          idOf={({ id }) => String(id)}
          isLinked
        />
      )}
      <div class="list-foot">
        <Pager
          newest={view.after === null ? undefined : paths.pathOf({ ...view, after: null })}
          newestLabel="First page"
          older={next === null ? undefined : paths.pathOf({ ...view, after: next })}
          olderLabel="Next page"
        />
        {people.length > 0 && <ExportLinks {...props} />}
      </div>
    </>
  )
}

const PeopleFinder = ({ viewer, view: { texts, sort }, suggested, messages }: PeopleProps) => (
  <Finder
    action={pathOf(viewer.app.publicId, 'people')}
    method="post"
    hidden={{ sort }}
    name="search"
    label="Search by email or name"
    placeholder="Email or name"
    value={texts.search}
  >
    <FilterMenu>
      <FilterFields {...{ texts, suggested, messages }} />
    </FilterMenu>
  </Finder>
)

const ANY = { value: '', label: 'Any' }

type FilterFieldsProps = Pick<PeopleProps, 'suggested' | 'messages'> & { texts: FilterTexts }

const FilterFields = ({ texts, suggested, messages }: FilterFieldsProps) => (
  <>
    <FilterGroup title="Emails">
      <Select
        name="emails"
        label="Result"
        value={texts.emails}
        options={[ANY, ...Object.entries(EMAIL_CHOICES).map(([value, { label }]) => ({ value, label }))]}
      />
      <Select
        name="days"
        label="When"
        value={texts.days}
        options={[
          { value: '', label: 'At any time' },
          ...Object.entries(EMAIL_DAYS).map(([value, label]) => ({ value, label })),
        ]}
      />
      <Select
        name="message"
        label="Message"
        value={texts.message}
        options={[ANY, ...messages.map(({ id, name }) => ({ value: publicId('msg', id), label: name }))]}
      />
    </FilterGroup>
    <FilterGroup title="Person">
      <FilterField name="tag" label="Tag" texts={texts} list="tags" />
      <Select
        name="status"
        label="Status"
        value={texts.status}
        options={[ANY, ...Object.entries(STATUSES).map(([value, { word }]) => ({ value, label: word }))]}
      />
      <FilterField name="field" label="Field" texts={texts} list="fields" />
      <FilterField name="value" label="Field value" texts={texts} />
    </FilterGroup>
    <FilterGroup title="Activity">
      <Select
        name="seen"
        label="Last page view"
        value={texts.seen}
        options={[ANY, ...Object.entries(SEEN_CHOICES).map(([value, { label }]) => ({ value, label }))]}
      />
      <FilterField name="event" label="Event" texts={texts} list="event-names" />
      <Select
        name="did"
        label="Event happened"
        value={texts.did}
        options={[
          { value: '', label: 'At least once' },
          { value: 'no', label: 'Never' },
        ]}
      />
    </FilterGroup>
    <Suggestions id="tags" texts={suggested.tags} />
    <Suggestions id="fields" texts={suggested.fields} />
    <Suggestions id="event-names" texts={suggested.events.filter((name) => describeEventName(name) === name)} />
  </>
)

type FilterFieldProps = { name: keyof FilterTexts; label: string; texts: FilterTexts; list?: string }

/** Empty means any. */
const FilterField = ({ name, label, texts, list }: FilterFieldProps) => (
  <FieldFrame name={name} label={label}>
    <input
      id={name}
      name={name}
      type="text"
      value={texts[name]}
      list={list}
      placeholder="Any"
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
    />
  </FieldFrame>
)

const Suggestions = ({ id, texts }: { id: string; texts: string[] }) => (
  <datalist id={id}>
    {texts.map((text) => (
      <option key={text} value={text} />
    ))}
  </datalist>
)

const chipsOf = ({ view, paths, messages }: PeopleProps) => ({
  chips: listChips(view.texts, messages).map(({ name, value, without }) => ({
    name,
    value,
    href: paths.pathOf({ ...view, texts: without, after: null }),
  })),
  clear: paths.pathOf({ ...view, texts: NO_FILTER, after: null }),
})

const Sorts = ({ view, paths }: PeopleProps) => (
  <nav class="ranges filter-links" aria-label="Sort">
    {PEOPLE_SORTS.map((sort) => (
      <a
        key={sort}
        href={paths.pathOf({ ...view, sort, after: null })}
        aria-current={sort === view.sort ? 'true' : undefined}
      >
        {SORTS[sort].label}
      </a>
    ))}
  </nav>
)

const ExportLinks = ({ view, paths, count }: PeopleProps) => (
  <p class="hint">
    Export {count.people === 1 && count.isExact ? 'this person' : count.isExact ? `all ${formatPeople(count)}` : 'all'}{' '}
    as{' '}
    {EXPORT_FORMATS.map((format, index) => (
      <>
        {index > 0 && ' or '}
        <a key={format} href={paths.exportPath(view, format)}>
          {format.toUpperCase()}
        </a>
      </>
    ))}
  </p>
)

const columnsOf = ({ viewer, view, people, messages, now }: PeopleProps): Column<FoundPerson>[] => [
  {
    name: 'Email',
    cell: (person) => (
      <a href={personPath(viewer.app.publicId, person.id)}>
        <SentText most={80}>{person.email}</SentText>
      </a>
    ),
  },
  {
    name: 'Name',
    isWide: true,
    cell: (person) => (nameOfPerson(person) === '' ? <None /> : <SentText most={60}>{nameOfPerson(person)}</SentText>),
  },
  { name: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  ...(people.some(({ foundEmail }) => foundEmail !== null)
    ? listEmailColumns(view, messages, now)
    : listUsualColumns(view, now)),
]

/** Windows that are too narrow for all show the time that the list is sorted by. */
const listUsualColumns = ({ sort }: PeopleView, now: number): Column<FoundPerson>[] => [
  { name: 'Tags', cell: ({ tags }) => <Tags tags={tags ?? []} most={1} />, isExtra: true },
  {
    name: 'Last page view',
    cell: ({ lastSeenAt }) => <NamedTime name="Page view" at={lastSeenAt} now={now} />,
    isTime: true,
    isExtra: sort !== 'seen',
  },
  {
    name: 'Last event',
    cell: ({ lastEventAt }) => <NamedTime name="Event" at={lastEventAt} now={now} />,
    isTime: true,
    isExtra: sort === 'seen' || sort === 'newest',
  },
  {
    name: 'Added',
    cell: ({ createdAt }) => <NamedTime name="Added" at={createdAt} now={now} />,
    isTime: true,
    isExtra: sort !== 'newest',
  },
]

/** Columns for filters about emails. */
const listEmailColumns = (
  { texts }: PeopleView,
  messages: readonly MessageRow[],
  now: number,
): Column<FoundPerson>[] => [
  {
    name: 'Message',
    isLong: true,
    cell: ({ foundEmail }) => {
      const name = messages.find(({ id }) => id === foundEmail?.messageId)?.name
      return name === undefined ? <None /> : <SentText most={40}>{name}</SentText>
    },
  },
  ...(texts.emails === 'returned' ? (['cameBackAt', 'openedAt'] as const) : (['emailedAt', 'cameBackAt'] as const)).map(
    (time, index): Column<FoundPerson> => ({
      name: EMAIL_TIMES[time],
      cell: ({ foundEmail }) => <NamedTime name={EMAIL_TIMES[time]} at={foundEmail?.[time] ?? null} now={now} />,
      isTime: true,
      isExtra: index > 0,
    }),
  ),
]

const EMAIL_TIMES = { emailedAt: 'Emailed', cameBackAt: 'Came back', openedAt: 'Opened the result' }

/** Rows on phones have no headings. */
const NamedTime = ({ name, at, now }: { name: string; at: number | null; now: number }) =>
  at === null ? (
    <None />
  ) : (
    <>
      <span class="on-phones">{name} </span>
      <Time at={at} now={now} />
    </>
  )

const NoMatch = ({ view, paths, next }: PeopleProps) => {
  const isFirst = view.after === null
  const clear = (
    <ButtonLink href={paths.pathOf({ ...view, texts: isFirst ? NO_FILTER : view.texts, after: null })}>
      {isFirst ? 'Clear filters' : 'First page'}
    </ButtonLink>
  )
  if (next !== null) {
    return <EmptyState title="No matches on this page">There may be some on the next page.</EmptyState>
  }
  return isFirst ? (
    <EmptyState title="Nobody matches" next={clear}>
      {view.texts.search === ''
        ? 'Change or clear the filters.'
        : 'Search matches the start of an email, or at least three characters of a name.'}
    </EmptyState>
  ) : (
    <EmptyState title="No more people" next={clear}>
      You've reached the end of the list.
    </EmptyState>
  )
}

const Nobody = ({ viewer }: { viewer: Viewer }) => (
  <EmptyState
    title="No people yet"
    next={<ButtonLink href={pathOf(viewer.app.publicId, 'activation')}>Send the first event</ButtonLink>}
  >
    Your server adds people through the API, alone or with their first event.
    {hasRole(viewer.member.role, 'editor') && ' You can also add people here.'}
  </EmptyState>
)
