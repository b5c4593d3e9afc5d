import { getDomain } from 'tldts'

/** By the whole Public Suffix List: a.github.io and b.github.io belong to two owners. Null if there is none. */
export const registeredDomain = (host: string): string | null => getDomain(host, { allowPrivateDomains: true })
