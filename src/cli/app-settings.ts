import { UsageError } from '../config.ts'
import { type AppRow, createAccess } from '../accounts/access.ts'
import {
  type AppSettings,
  type AppSettingsText,
  findAppSettings,
  readAppSettings,
  saveAppSettings,
  writeAppSettings,
} from '../accounts/app-settings.ts'
import {
  describeDays,
  describeDeletions,
  findDeletions,
  REQUEST_DAYS,
  RESPONSE_DAYS,
  type Retention,
  readRetentionText,
} from '../accounts/retention.ts'
import { systemClock } from '../core/clock.ts'
import type { FieldError } from '../core/refusals.ts'
import type { Store } from '../store/store.ts'
import { makeSnippetPolicy, makeSnippetTag } from '../visits/snippet-tag.ts'
import {
  ANY_ACCOUNT,
  APP,
  BASE_URL,
  type Command,
  CommandRefused,
  DATA,
  expectDone,
  findAppOf,
  findChosenApp,
  type Given,
  JSON_OUTPUT,
  type Options,
  readBaseUrl,
  withStore,
} from './command.ts'

const list = (meaning: string): Options[string] => ({ type: 'string', value: 'HOST', multiple: true, meaning })

/** Until the person is erased. */
const FOREVER = 'forever'

const forever = { word: FOREVER, meaning: 'keeps them' }
const byDefault = (days: number) => ({ word: 'default', meaning: `is ${days}` })

/** `empty`: the word for no number of days. */
const KEPT: Record<keyof Retention, { option: string; what: string; empty: { word: string; meaning: string } }> = {
  eventDays: { option: 'keep-events', what: 'events', empty: forever },
  pageViewDays: { option: 'keep-page-views', what: 'page views', empty: forever },
  capturedDays: { option: 'keep-captured', what: 'captured emails', empty: forever },
  requestDays: { option: 'keep-requests', what: 'requests in the log', empty: byDefault(REQUEST_DAYS) },
  responseDays: { option: 'keep-responses', what: 'responses for an Idempotency-Key', empty: byDefault(RESPONSE_DAYS) },
}

const keep = (field: keyof Retention): Options => {
  const { option, what, empty } = KEPT[field]
  const meaning = `Days to keep ${what}: ${describeDays(field)}. \`${empty.word}\` ${empty.meaning}.`
  return { [option]: { type: 'string', value: 'DAYS', meaning } }
}

const SETTINGS: Options = {
  name: { type: 'string', value: 'NAME', meaning: 'Name of the app.' },
  domain: list('A domain of the app. Repeat to list all of them.'),
  home: { type: 'string', value: 'URL', meaning: 'Home page of the app.' },
  timezone: {
    type: 'string',
    value: 'ZONE',
    meaning: 'Timezone for pages and emails, such as Europe/Zurich.',
  },
  locale: {
    type: 'string',
    value: 'TAG',
    meaning: 'Format for numbers, money and dates in emails, such as en-US or de-CH.',
  },
  'snippet-host': list('A host whose pages can report. Repeat to list all of them. `any` allows all hosts.'),
  'snippet-adds-people': {
    type: 'string',
    value: 'on|off',
    meaning: 'With `on`, reports from pages add unknown people.',
  },
  ...keep('eventDays'),
  ...keep('pageViewDays'),
  ...keep('capturedDays'),
  ...keep('requestDays'),
  ...keep('responseDays'),
}

const YES: Options = { yes: { type: 'boolean', meaning: 'Deletes data that is older than the new number of days.' } }

function changeText(before: AppSettingsText, given: Given): AppSettingsText {
  const hosts = (name: string): string | undefined => {
    const all = given.all(name)
    return all.length === 0 ? undefined : all.join('\n')
  }
  const days = (field: keyof Retention): string => {
    const { option, empty } = KEPT[field]
    const typed = given.text(option) ?? before[field]
    return typed === empty.word ? '' : typed
  }
  const snippetHosts = hosts('snippet-host')
  const addsPeople = given.text('snippet-adds-people')
  return {
    name: given.text('name') ?? before.name,
    home: given.text('home') ?? before.home,
    domains: hosts('domain') ?? before.domains,
    timezone: given.text('timezone') ?? before.timezone,
    locale: given.text('locale') ?? before.locale,
    snippetHosts: snippetHosts === 'any' ? '' : (snippetHosts ?? before.snippetHosts),
    addsPeople: addsPeople === undefined ? before.addsPeople : addsPeople === 'on',
    ...readRetentionText(days),
  }
}

function readAppId({ words }: Given): string {
  const [appId, ...more] = words
  if (appId === undefined || more.length > 0) throw new UsageError('Specify one app: eventpost app set APP_ID.')
  return appId
}

export const appSet: Command = {
  name: 'app set',
  words: 'APP_ID',
  summary: "changes an app's settings and prints all of them",
  options: { ...DATA, ...ANY_ACCOUNT, ...JSON_OUTPUT, ...SETTINGS, ...YES },
  run: async (given, env) => {
    const appId = readAppId(given)
    if (Object.keys(SETTINGS).every((name) => given.text(name) === undefined))
      throw new UsageError('Specify a setting to change, such as --domain app.example.com.')
    if (!['on', 'off', undefined].includes(given.text('snippet-adds-people')))
      throw new UsageError('--snippet-adds-people takes on or off.')
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findAppOf(store, given, appId)
      const basedOn = await findAppSettings(store, app)
      const reading = readAppSettings(changeText(writeAppSettings(basedOn), given), basedOn)
      if ('errors' in reading) throw new UsageError(nameOptions(reading.errors))
      if (!given.isSet('yes')) await refuseDeletions(store, app, { basedOn, ...reading })
      const deps = { store, clock: systemClock, access: createAccess({ store, clock: systemClock }) }
      expectDone(await saveAppSettings(deps, app, { ...reading, basedOn, actor: 'cli' }))
      return show(app, reading.settings)
    })
  },
}

async function refuseDeletions(
  store: Store,
  { id: appId }: AppRow,
  { basedOn, settings }: { basedOn: AppSettings; settings: AppSettings },
): Promise<void> {
  const change = { appId, before: basedOn.retention, after: settings.retention, now: systemClock.now() }
  const deletions = await findDeletions(store, change)
  if (deletions.length > 0)
    throw new CommandRefused(`${describeDeletions(deletions, settings.timezone)} Add --yes to delete them.`)
}

const OPTION_OF = new Map<string, string>([
  ['app', 'name'],
  ['domains', 'domain'],
  ['snippetHosts', 'snippet-host'],
])

const isKept = (field: string): field is keyof Retention => Object.hasOwn(KEPT, field)

const describeError = ({ field, message }: FieldError): string =>
  isKept(field)
    ? `--${KEPT[field].option} takes a number of days from ${describeDays(field)}, or ${KEPT[field].empty.word}.`
    : `--${OPTION_OF.get(field) ?? field}: ${message}`

const nameOptions = (errors: FieldError[]): string => errors.map(describeError).join(' ')

const show = (
  { publicId: appId, siteId }: AppRow,
  { name, hosts: domains, homeUrl: home, timezone, locale, snippet, retention }: AppSettings,
) => ({
  appId,
  siteId,
  name,
  domains,
  home,
  timezone,
  locale,
  snippetHosts: snippet.hosts,
  snippetAddsPeople: snippet.addsPeople,
  keepEvents: retention.eventDays ?? FOREVER,
  keepPageViews: retention.pageViewDays ?? FOREVER,
  keepCaptured: retention.capturedDays ?? FOREVER,
  keepRequests: retention.requestDays ?? REQUEST_DAYS,
  keepResponses: retention.responseDays ?? RESPONSE_DAYS,
})

export const appTag: Command = {
  name: 'app tag',
  summary: 'prints the script tag for the browser script; with --json, also the Content-Security-Policy',
  options: {
    ...DATA,
    ...ANY_ACCOUNT,
    ...JSON_OUTPUT,
    ...BASE_URL,
    ...APP,
    consent: { type: 'boolean', meaning: 'Sends nothing until the page calls service("consent", true).' },
    gpc: { type: 'boolean', meaning: 'Treats Global Privacy Control as a refusal.' },
    pinned: { type: 'boolean', meaning: 'Pins this build by its hash. Replace the tag after every upgrade.' },
  },
  run: async (given, env) => {
    const baseUrl = readBaseUrl(given, env)
    const { readScript, readStub } = await import('../assets.ts')
    const stub = readStub()
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findChosenApp(store, given)
      const { siteId, publicId: appId } = app
      const { addsPeople } = await store.snippetSettings(app.id)
      if (!addsPeople) console.error(describeIgnoredReports(appId))
      const [requiresConsent, respectsGpc] = [given.isSet('consent'), given.isSet('gpc')]
      const pinned = given.isSet('pinned') ? readScript().identity : undefined
      const tag = makeSnippetTag({ baseUrl, siteId, stub, requiresConsent, respectsGpc, pinned })
      return given.isSet('json') ? { tag, contentSecurityPolicy: makeSnippetPolicy({ baseUrl, stub }) } : tag
    })
  },
}

/** Their reports get 202 like all others, so this warning is the only sign. */
const describeIgnoredReports = (appId: string): string =>
  `eventpost: page views of unknown people are ignored. To add these people, run: eventpost app set ${appId} --snippet-adds-people on`
