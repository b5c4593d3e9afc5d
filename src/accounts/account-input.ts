import type { AccountInput } from './accounts.ts'
import { describeInvalidEmail, readEmail } from '../core/email.ts'
import { homeOfDomain, readTypedHost } from './app-hosts.ts'
import type { FieldError } from '../core/refusals.ts'
import { readVisibleText } from '../core/visible-text.ts'

export type AccountText = AppText & { email: string; name?: string | null }
export type AppText = { appName: string; domains: string[]; home: string | null }

const NAME_CHARACTERS = 100

/** Used by the set-up form and the command. `domains` may be empty. */
export function readAccountInput(
  text: AccountText,
): { input: Omit<AccountInput, 'passwordHash'> } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const add = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  const email = readEmail(text.email)
  if (!email) add('email', describeInvalidEmail(text.email, 'Enter one email address, such as ada@example.com.'))
  const app = readAppText(text)
  if ('errors' in app) errors.push(...app.errors)
  const account = text.name === undefined || text.name === null ? { name: null } : readAccountName(text.name)
  if ('errors' in account) errors.push(...account.errors)
  if ('errors' in app || 'errors' in account || !email) return { errors }
  return { input: { email: email.email, name: account.name, ...app.input } }
}

export function readAccountName(text: string): { name: string } | { errors: FieldError[] } {
  const name = text.trim()
  const message = `Enter a name of 1 to ${NAME_CHARACTERS} characters for the account.`
  return isName(name) ? { name } : { errors: [{ field: 'name', code: 'invalid', message }] }
}

export function readAppText(
  text: AppText,
): { input: Omit<AccountInput, 'email' | 'passwordHash' | 'name'> } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const add = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  const appName = text.appName.trim()
  if (!isName(appName)) add('app', `Enter a name of 1 to ${NAME_CHARACTERS} characters for the app.`)
  const domains = text.domains.map((domain) => readTypedHost(domain))
  const wrong = text.domains[domains.indexOf(null)]
  if (wrong !== undefined) add('domain', describeDomainFault(wrong))
  const home = text.home === null || text.home.trim() === '' ? null : readHome(text.home)
  if (text.home !== null && text.home.trim() !== '' && home === null) {
    add('home', 'Enter the URL of your home page, starting with https://.')
  }
  if (errors.length > 0) return { errors }
  const [first] = text.domains
  const found = domains.filter((domain) => domain !== null)
  return { input: { appName, domains: found, home: home ?? (first === undefined ? null : homeOfDomain(first)) } }
}

const IP_ADDRESS = /^(?:https?:\/\/)?(?:\[|\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]))/i

export const describeDomainFault = (text: string): string =>
  IP_ADDRESS.test(text.trim())
    ? "An IP address doesn't work here. Use a domain, or localhost for tests."
    : DOMAIN_MESSAGE

const DOMAIN_MESSAGE = 'Enter your own domain, such as app.example.com.'

/** One line without invisible or reordering characters: people who are invited read it. */
const isName = (name: string): boolean => {
  const isShown = !/\p{Cc}/u.test(name) && readVisibleText(name).every((piece) => 'text' in piece)
  return name !== '' && [...name].length <= NAME_CHARACTERS && isShown
}

function readHome(text: string): string | null {
  const url = URL.parse(text.trim())
  const isWeb = url?.protocol === 'https:' || (url?.protocol === 'http:' && url.hostname === 'localhost')
  if (!url || !isWeb || url.username !== '' || url.password !== '') return null
  const typed = text.trim()
  return `${typed}/` === url.href ? typed : url.href
}
