/**
 * Code to paste into a customer's server: it sends an event with a timeout of 10 seconds, logs what fails
 * and throws nothing, and signs the email of whoever is signed in. The pages and MCP show the same texts.
 */
import type { AppRow } from '../../accounts/access.ts'
import { ownHosts } from '../../accounts/app-hosts.ts'
import { linkableUrl } from '../../accounts/links.ts'
import { curlCode } from './curl.ts'
import { goCode } from './go.ts'
import { bunCode, nextCode, nodeCode } from './javascript.ts'
import { phpCode } from './php.ts'
import { pythonCode } from './python.ts'
import { rubyCode } from './ruby.ts'
import type { Integration } from './types.ts'

export type { Integration }

/** What stands beside every place where a key or secret is shown. */
export const SECRETS_WARNING =
  'Keep keys and secrets on your server. Never put them into code that runs in a browser, into variables with a public prefix such as NEXT_PUBLIC_ or VITE_, or into an AI chat.'

/** Lines for a shell or a .env file; without `export` a program that the shell starts would not see them. */
export const environmentLines = (apiKey: string, identitySecret: string): string =>
  `export SERVICE_API_KEY=${apiKey}\nexport SERVICE_IDENTITY_SECRET=${identitySecret}`

/** Characters that end or open something in a quoted text of any of these languages. */
const UNQUOTABLE = /["'$`\\#{}<>\s]/g

/** The code for an app in every language that is known, the most common first. */
export function integrationCode(baseUrl: string, app: Pick<AppRow, 'publicId' | 'homeUrl' | 'hosts'>): Integration[] {
  const values = { baseUrl: quotable(baseUrl), appId: app.publicId, home: quotable(homeOf(app)) }
  return [curlCode, nodeCode, bunCode, pythonCode, phpCode, rubyCode, goCode, nextCode].map((write) => write(values))
}

/** Where the customer's pages are: their home page where mail may link to it, else their first domain. */
function homeOf({ homeUrl, hosts }: Pick<AppRow, 'homeUrl' | 'hosts'>): string {
  const [host = 'app.example.com'] = hosts
  const home = homeUrl === null ? null : linkableUrl(homeUrl, ownHosts(hosts))
  return home && home.hostname !== 'localhost'
    ? home.origin
    : host === 'localhost'
      ? `http://${host}`
      : `https://${host}`
}

const quotable = (url: string): string =>
  url.replaceAll(UNQUOTABLE, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
