/** Which links a mail carries. */
import { ownHosts } from '../accounts/app-hosts.ts'
import { linkableUrl } from '../accounts/links.ts'
import { splitValues } from '../messages/templates.ts'

/** What decides about links: the app's own hosts, its home page, and the addresses that are ours to give. */
export type LinkFacts = { hosts: readonly string[]; homeUrl: string | null; unsubscribeUrl: string }

/** Where a link leads, or the refusal of a URL that came with an event or a person and is not the app's own. */
export type MailLink = { href: string } | { refused: string }

const AUTHOR_SCHEMES = new Set(['https:', 'http:', 'mailto:'])

/**
 * Reads the target of a link. What its author wrote out may lead anywhere; as soon as a value has a part in it, the
 * link rule decides. A value that is the whole target is taken as it is, one within it as a single encoded word.
 */
export function readMailLink(target: string, facts: LinkFacts): MailLink {
  const parts = splitValues(target)
  const isWhole = parts.length === 1
  const url = parts
    .map((part) => ('plain' in part ? part.plain : isWhole ? part.value : encodeURIComponent(part.value)))
    .join('')
  if (url === facts.unsubscribeUrl || url === facts.homeUrl) return { href: url }
  if (!parts.some((part) => 'value' in part)) return readAuthorLink(url)
  const linkable = linkableUrl(url, ownHosts(facts.hosts))
  return linkable ? { href: linkable.href } : { refused: url }
}

function readAuthorLink(text: string): MailLink {
  const url = URL.parse(text.trim())
  return url && AUTHOR_SCHEMES.has(url.protocol) ? { href: url.href } : { refused: text }
}
