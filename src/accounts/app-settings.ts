import { type Clock, expiryNow } from '../core/clock.ts'
import type { AppRow, KeyAccess } from './access.ts'
import type { Store } from '../store/store.ts'
import { findName, hintOfTag, readTag } from '../core/languages.ts'
import { isTimezone, readLocale } from '../core/local-time.ts'
import { pickSettings } from '../store/apps.ts'
import type { AppSettings, Refused } from '../store/types.ts'
import { describeDomainFault, readAppText } from './account-input.ts'
import { hasPort, ownHosts, readAppHost, readTypedHost } from './app-hosts.ts'
import { linkableUrl } from './links.ts'
import { readRetention, type RetentionText, writeRetention } from './retention.ts'
import { LOCALHOST } from '../core/domains.ts'
import { type FieldError, type Refusal, refuse } from '../core/refusals.ts'

export type { AppSettings }

export type AppSettingsText = {
  name: string
  home: string
  domains: string
  timezone: string
  locale: string
  snippetHosts: string
  addsPeople: boolean
} & RetentionText

export const findAppSettings = async (store: Store, app: AppRow): Promise<AppSettings> =>
  pickSettings(app, await store.snippetSettings(app.id), await store.findRetention(app.id))

export const writeAppSettings = ({
  name,
  homeUrl,
  hosts,
  timezone,
  locale,
  snippet,
  retention,
}: AppSettings): AppSettingsText => ({
  name,
  home: homeUrl ?? '',
  domains: hosts.join('\n'),
  timezone,
  locale,
  snippetHosts: snippet.hosts.join('\n'),
  addsPeople: snippet.addsPeople,
  ...writeRetention(retention),
})

/** The default home page of earlier apps. */
const UNUSUAL = `https://${LOCALHOST}`

/** The home page when emails may link to it, else the first domain. */
export function siteOrigin({ homeUrl, hosts }: Pick<AppRow, 'homeUrl' | 'hosts'>): string {
  const [host = 'app.example.com'] = hosts
  const home = homeUrl === null ? null : linkableUrl(homeUrl, ownHosts(hosts))
  if (home && home.origin !== UNUSUAL) return home.origin
  return host === LOCALHOST ? `http://${host}` : `https://${host}`
}

/** `before`: its locale stays valid, even if it is one of 0.1.0 with extensions. */
export function readAppSettings(
  text: AppSettingsText,
  before?: Pick<AppSettings, 'locale'>,
): { settings: AppSettings } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const hosts = readHosts('domains', text.domains, errors)
  const timezone = text.timezone.trim()
  if (!isTimezone(timezone)) errors.push({ field: 'timezone', code: 'invalid', message: TIMEZONE_MESSAGE })
  const locale = text.locale === before?.locale ? before.locale : readTag(text.locale)
  if (locale === null && text.locale.trim() !== '')
    errors.push({ field: 'locale', code: 'invalid', message: LOCALE_MESSAGE + hintOfTag(text.locale) })
  const snippetHosts = readHosts('snippetHosts', text.snippetHosts, errors)
  const retention = readRetention(text, errors)
  const app = readAppText({ appName: text.name, domains: [], home: text.home })
  if ('errors' in app) return { errors: [...app.errors, ...errors] }
  if (errors.length > 0) return { errors }
  const { appName: name, home: homeUrl } = app.input
  const snippet = { hosts: snippetHosts, addsPeople: text.addsPeople }
  return { settings: { name, homeUrl, hosts, timezone, locale: readLocale(locale), snippet, retention } }
}

const TIMEZONE_MESSAGE = 'Choose a timezone by its name, such as Europe/Zurich, or UTC.'

const LOCALE_MESSAGE = 'Choose a locale by its BCP 47 tag, such as en-US or de-CH.'

/** Offered on the settings page. The command line takes any known locale. */
const LOCALES = `ar-AE ar-EG ar-SA bg-BG bn-BD ca-ES cs-CZ da-DK de-AT de-CH de-DE el-GR en-AU en-CA en-GB en-IE en-IN
  en-NZ en-SG en-US en-ZA es-AR es-CL es-CO es-ES es-MX et-EE fa-IR fi-FI fil-PH fr-BE fr-CA fr-CH fr-FR he-IL hi-IN
  hr-HR hu-HU id-ID is-IS it-CH it-IT ja-JP ko-KR lt-LT lv-LV ms-MY nb-NO nl-BE nl-NL pl-PL pt-BR pt-PT ro-RO ru-RU
  sk-SK sl-SI sr-RS sv-SE ta-IN th-TH tr-TR uk-UA ur-PK vi-VN zh-CN zh-HK zh-TW`.split(/\s+/)

export function localesWith(current: string): { locale: string; name: string }[] {
  const names = new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard' })
  return [...new Set([current, ...LOCALES])]
    .filter((locale) => locale !== '')
    .map((locale) => ({ locale, name: findName(locale, names) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

export const timezonesWith = (current: string): string[] =>
  [...new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])].toSorted()

/** Whether a domain was typed with a port. */
export const hasPorts = ({ domains, snippetHosts }: Pick<AppSettingsText, 'domains' | 'snippetHosts'>): boolean =>
  `${domains}\n${snippetHosts}`.split('\n').some(hasPort)

function readHosts(field: string, text: string, errors: FieldError[]): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const hosts = lines.map((line) => readTypedHost(line))
  const wrong = hosts.indexOf(null)
  const place = lines.length === 1 ? '' : `Line ${wrong + 1} is not a domain. `
  if (wrong >= 0) errors.push({ field, code: 'invalid', message: place + describeDomainFault(lines[wrong] ?? '') })
  return [...new Set(hosts.filter((host) => host !== null))]
}

/** The domain that emails need to link there; null if a domain isn't all that is missing. */
export function findHostToAdd(link: string, hosts: readonly string[]): string | null {
  const host = readTypedHost(link)
  return host !== null && linkableUrl(link, ownHosts([...hosts, host])) ? host : null
}

/** Adds one of the app's own domains. */
export async function allowHost(
  deps: { store: Store; clock: Clock; access: KeyAccess },
  app: AppRow,
  { host, actor }: { host: string; actor: string },
): Promise<{ done: true } | Refusal> {
  const added = readAppHost(host)
  if (added === null) return refuse('invalid_field', { message: describeDomainFault(host) })
  const basedOn = await findAppSettings(deps.store, app)
  const settings = { ...basedOn, hosts: [...new Set([...basedOn.hosts, added])] }
  return saveAppSettings(deps, app, { settings, basedOn, actor })
}

export async function saveAppSettings(
  { store, clock, access }: { store: Store; clock: Clock; access: KeyAccess },
  app: AppRow,
  { actor, ...change }: { settings: AppSettings; basedOn: AppSettings; actor: string },
): Promise<{ done: true } | Refused> {
  const { accountId, id: appId } = app
  const outcome = await store.updateApp({
    accountId,
    actor,
    at: clock.now(),
    expiryAt: expiryNow(clock),
    appId,
    ...change,
  })
  access.forget()
  return outcome
}
