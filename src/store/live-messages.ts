import { createLoads } from '../core/in-order.ts'
import { DAY_MS } from '../core/clock.ts'
import type { Sql } from './engine/sql.ts'
import { UNSURE, USES_DEDUPE_KEY } from './delivery-states.ts'
import { readTimezone } from '../core/local-time.ts'
import type {
  DateTrigger,
  FindMailSource,
  MailSource,
  MessageContent,
  MessageRow,
  OptIn,
  Rule,
} from './message-types.ts'

const CACHED_APPS = 10_000
/** 10 MB; the cache is cleared when full. */
const CACHED_SOURCES = 1_000
/** 10 MB; the people are forgotten when full, and their emails are checked when they are due. */
const MOST_UNSURE = 100_000

export type LiveMessage = { id: number; version: number; content: MessageContent }

export type DateSchedule = { scheduleId: number; messageId: number; trigger: DateTrigger }

export type AppRules = {
  byEvent: Map<string, LiveMessage[]>
  byTag: Map<string, LiveMessage[]>
  byPage: LiveMessage[]
  onCreated: LiveMessage[]
  /** by id: sent by POST /send */
  bySend: Map<number, LiveMessage>
  /** by the id of the message whose emails trigger them */
  byMessage: Map<number, LiveMessage[]>
  /** the message behind emails with a text of their own; null: there is none yet */
  ownText: LiveMessage | null
  /** null: the app doesn't ask people to confirm their address */
  optIn: OptIn | null
  /** of texts of its messages, apart from their own; drafts don't count */
  mailLanguages: Set<string>
  /** of the app's own texts; null: nobody said which it is */
  textsLang: string | null
  /** those that a date or inactivity triggers */
  timed: LiveMessage[]
  /** schedules by dates of people */
  dates: DateSchedule[]
  /** rules whose result an event can change, and the event names that change it */
  cancelledBy: Set<Rule['rule']>
  cancellingEvents: Set<string>
  /** those whose properties decide what they change */
  comparedEvents: Set<string>
  /** longest time (ms) in which each goal event counts, of all versions */
  goalEvents: Map<string, number>
  /** some version of a message holds people back, so people are compared */
  holdsBack: boolean
  timezone: string
  /** the app's own domains */
  hosts: string[]
  hasDeliveries: boolean
}

type Version = { id: number; name: string; status: string; version: number; current: number; content: string }

/** Cache of each app's messages on the writer thread. Dropped whenever a message changes. */
export type LiveMessages = ReturnType<typeof createLiveMessages>

export function createLiveMessages(db: Sql, readSource: FindMailSource) {
  const { dialect } = db
  const select = db.prepare<Version, [number]>(
    `SELECT m.id, m.name, m.status, m.version AS current, v.version, v.content
     FROM messages m JOIN message_versions v ON v.message_id = m.id WHERE m.app_id = ? ORDER BY m.id`,
  )
  const oneVersion = db.prepare<{ content: string }, [number, number]>(
    'SELECT content FROM message_versions WHERE message_id = ? AND version = ?',
  )
  const oneDelivery = db.prepare(`SELECT 1 FROM deliveries WHERE app_id = ? AND ${USES_DEDUPE_KEY} LIMIT 1`)
  const unsureOf = db.prepare<{ contactId: number; dueAt: number }, [number]>(
    `SELECT contact_id AS "contactId", due_at AS "dueAt" FROM messages
       ${dialect.crossJoin} deliveries${dialect.indexedBy('deliveries_by_reason')}
         ON deliveries.message_id = messages.id AND reason = '${UNSURE}' AND state = 'deferred'
     WHERE messages.app_id = ?`,
  )
  const app = db.prepare<
    { timezone: string | null; optIn: string | null; lang: string | null; hosts: string },
    [number]
  >(
    `SELECT (SELECT timezone FROM app_mail_settings WHERE app_id = ?1) AS timezone,
       (SELECT opt_in FROM app_mail_settings WHERE app_id = ?1) AS "optIn",
       (SELECT ${dialect.jsonMember('texts', 'lang')} FROM app_mail_settings WHERE app_id = ?1) AS lang,
       (SELECT ${dialect.jsonArrayOf('host')} FROM app_hosts WHERE app_id = ?1) AS hosts`,
  )
  const schedules = db.prepare<{ scheduleId: number; messageId: number }, [number]>(
    'SELECT id AS "scheduleId", message_id AS "messageId" FROM message_schedules WHERE app_id = ? AND is_over = 0',
  )
  const loadDates = async (appId: number, timed: readonly LiveMessage[]): Promise<DateSchedule[]> =>
    timed.length === 0
      ? []
      : (await schedules.all(appId)).flatMap((schedule) => {
          const trigger = timed.find(({ id }) => id === schedule.messageId)?.content.trigger
          return trigger && 'date' in trigger ? [{ ...schedule, trigger }] : []
        })
  const apps = createLoads<number, AppRules>(CACHED_APPS)
  const contents = createLoads<string, MessageContent>(CACHED_APPS)
  const sources = createLoads<string, MailSource>(CACHED_SOURCES)
  /** apps that get deliveries in the open transaction, or that have got some from another instance */
  const appsWithNewDeliveries = new Set<number>()

  /** PostgreSQL is asked for it with each person, because other instances change it */
  const cachesUnsure = dialect.engine === 'sqlite'
  /** until when an email waits to know whether its person left (ms UTC), by contact */
  const unsure = new Map<number, number>()
  const noteUnsure = (contactId: number, dueAt: number): void => {
    if (!cachesUnsure) return
    if (unsure.size >= MOST_UNSURE) unsure.clear()
    unsure.set(contactId, dueAt)
  }

  const load = async (appId: number): Promise<AppRules> => {
    if (cachesUnsure) for (const { contactId, dueAt } of await unsureOf.all(appId)) noteUnsure(contactId, dueAt)
    const versions = (await select.all(appId)).map((row) => ({
      ...row,
      content: JSON.parse(row.content) as MessageContent,
    }))
    const found = await app.get(appId)
    const rules = emptyRules(readTimezone(found?.timezone), JSON.parse(found?.hosts ?? '[]') as string[])
    const optIn = JSON.parse(found?.optIn ?? 'null') as OptIn | null
    rules.optIn = optIn?.isOn ? optIn : null
    rules.textsLang = found?.lang ?? null
    rules.hasDeliveries = (await oneDelivery.get(appId)) !== null
    const idOf = (wanted: string): number | undefined => versions.find(({ name }) => name === wanted)?.id
    for (const { id, status, version, current, content } of versions) {
      // deliveries of older versions may still be waiting
      noteCancelling(rules, content)
      noteGoal(rules, content)
      rules.holdsBack ||= content.holdback !== undefined
      if (status !== 'draft' && version === current)
        for (const language of Object.keys(content.mail?.variants ?? {})) rules.mailLanguages.add(language)
      if (status === 'live' && version === current) addTrigger(rules, { id, version, content }, idOf)
    }
    rules.dates = await loadDates(appId, rules.timed)
    // emails that failed count in the comparison too
    rules.hasDeliveries ||= rules.holdsBack
    return rules
  }

  const of = (appId: number): Promise<AppRules> => apps.find(appId, () => load(appId))

  const loadContent = async (messageId: number, version: number): Promise<MessageContent> => {
    const row = await oneVersion.get(messageId, version)
    if (!row) throw new Error('A delivery refers to a message version that does not exist')
    return JSON.parse(row.content) as MessageContent
  }

  return {
    of,
    hasDeliveries: async (appId: number): Promise<boolean> =>
      (await of(appId)).hasDeliveries || appsWithNewDeliveries.has(appId),
    noteDelivery: (appId: number): void => void appsWithNewDeliveries.add(appId),
    noteUnsure,
    isUnsure(contactId: number, at: number): boolean {
      const until = unsure.get(contactId)
      if (until === undefined || until > at) return until !== undefined
      unsure.delete(contactId)
      return false
    },
    settle(): void {
      for (const appId of appsWithNewDeliveries) {
        const rules = apps.get(appId)
        if (rules) rules.hasDeliveries = true
      }
      appsWithNewDeliveries.clear()
    },
    /** @throws if the version is missing: a message cannot be deleted while it has deliveries */
    contentOf: (messageId: number, version: number): Promise<MessageRow['content']> =>
      contents.find(`${messageId}:${version}`, () => loadContent(messageId, version)),
    findSource: (messageId: number, version: number): Promise<MailSource | null> =>
      sources.find(`${messageId}:${version}`, () => readSource(messageId, version)),
    drop(appId: number): void {
      apps.drop(appId)
      contents.clear()
      sources.clear()
    },
    forget(): void {
      appsWithNewDeliveries.clear()
      apps.clear()
      contents.clear()
      sources.clear()
    },
  }
}

const emptyRules = (timezone: string, hosts: string[]): AppRules => ({
  byEvent: new Map(),
  byTag: new Map(),
  byPage: [],
  onCreated: [],
  bySend: new Map(),
  byMessage: new Map(),
  timed: [],
  dates: [],
  ownText: null,
  optIn: null,
  mailLanguages: new Set(),
  textsLang: null,
  cancelledBy: new Set(),
  cancellingEvents: new Set(),
  comparedEvents: new Set(),
  goalEvents: new Map(),
  holdsBack: false,
  timezone,
  hosts,
  hasDeliveries: false,
})

function addTrigger(rules: AppRules, message: LiveMessage, idOf: (name: string) => number | undefined): void {
  const { trigger } = message.content
  if ('event' in trigger) addTo(rules.byEvent, trigger.event, message)
  else if ('tag' in trigger) addTo(rules.byTag, trigger.tag, message)
  else if ('page' in trigger) rules.byPage.push(message)
  else if ('contact' in trigger) rules.onCreated.push(message)
  else if ('date' in trigger || 'inactiveDays' in trigger) rules.timed.push(message)
  else if ('message' in trigger) {
    const source = idOf(trigger.message)
    if (source !== undefined) addTo(rules.byMessage, source, message)
  } else if (message.content.isOwnText) rules.ownText = message
  else rules.bySend.set(message.id, message)
}

function addTo<Key>(map: Map<Key, LiveMessage[]>, key: Key, message: LiveMessage): void {
  const messages = map.get(key)
  if (messages) messages.push(message)
  else map.set(key, [message])
}

function noteGoal({ goalEvents }: AppRules, { goal }: MessageContent): void {
  if (goal) goalEvents.set(goal.event, Math.max(goalEvents.get(goal.event) ?? 0, goal.days * DAY_MS))
}

function noteCancelling(rules: AppRules, { onlyIf = [] }: MessageContent): void {
  for (const rule of onlyIf) {
    rules.cancelledBy.add(rule.rule)
    if (rule.rule !== 'notDone') continue
    rules.cancellingEvents.add(rule.event)
    if (rule.same !== undefined) rules.comparedEvents.add(rule.event)
  }
}
