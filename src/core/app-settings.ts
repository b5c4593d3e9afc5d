import { isTimezone } from '../store/local-time.ts'
import type { SnippetSettings } from '../store/snippet-types.ts'
import type { Refused } from '../store/types.ts'
import type { AppRow } from './access.ts'
import { DOMAIN_MESSAGE, readAppText } from './beginnings.ts'
import { readTypedHost } from './app-hosts.ts'
import type { Parts } from './parts.ts'
import type { FieldError } from './refusals.ts'

/** What someone typed; `domains` and `snippetHosts` have one host a line. */
export type AppSettingsText = {
  name: string
  home: string
  domains: string
  timezone: string
  snippetHosts: string
  addsPeople: boolean
}

export type AppSettings = Pick<AppRow, 'name' | 'homeUrl' | 'hosts' | 'timezone'> & { snippet: SnippetSettings }

/** What is set, as it is typed again. */
export const writeAppSettings = (
  { name, homeUrl, hosts, timezone }: AppRow,
  snippet: SnippetSettings,
): AppSettingsText => ({
  name,
  home: homeUrl ?? '',
  domains: hosts.join('\n'),
  timezone,
  snippetHosts: snippet.hosts.join('\n'),
  addsPeople: snippet.addsPeople,
})

/** Checks what someone typed, by the rules of set-up; errors name the fields `app`, `home`, `domains`, `timezone`, `snippetHosts`. */
export function readAppSettings(text: AppSettingsText): { settings: AppSettings } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const hosts = readHosts('domains', text.domains, errors)
  const timezone = text.timezone.trim()
  if (!isTimezone(timezone)) errors.push({ field: 'timezone', code: 'invalid', message: TIMEZONE_MESSAGE })
  const snippetHosts = readHosts('snippetHosts', text.snippetHosts, errors)
  const app = readAppText({ appName: text.name, domains: [], home: text.home })
  if ('errors' in app) return { errors: [...app.errors, ...errors] }
  if (errors.length > 0) return { errors }
  const { appName: name, home: homeUrl } = app.input
  return { settings: { name, homeUrl, hosts, timezone, snippet: { hosts: snippetHosts, addsPeople: text.addsPeople } } }
}

const TIMEZONE_MESSAGE = 'Choose a timezone by its name, such as Europe/Zurich, or UTC.'

/** The names of timezones to choose from, with one that is set already. */
export const timezonesWith = (current: string): string[] =>
  [...new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])].toSorted()

function readHosts(field: string, text: string, errors: FieldError[]): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const hosts = lines.map((line) => readTypedHost(line))
  const wrong = hosts.indexOf(null)
  const place = lines.length === 1 ? '' : `Line ${wrong + 1} is no domain. `
  if (wrong >= 0) errors.push({ field, code: 'invalid', message: place + DOMAIN_MESSAGE })
  return [...new Set(hosts.filter((host) => host !== null))]
}

/** Saves all of it; holds from the next request on. Refusals: app_not_found, unavailable. */
export async function saveAppSettings(
  { store, clock, access }: Pick<Parts, 'store' | 'clock' | 'access'>,
  app: AppRow,
  { settings, actor }: { settings: AppSettings; actor: string },
): Promise<{ done: true } | Refused> {
  const { accountId, id: appId } = app
  const outcome = await store.updateApp({ accountId, actor, at: clock.now(), appId, settings })
  access.forget()
  return outcome
}
