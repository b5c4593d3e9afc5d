const HASH_CHARACTERS = 16

export type SnippetTag = {
  baseUrl: string
  siteId: string
  stub: string
  /** nothing is sent before `service("consent", true)` */
  requiresConsent?: boolean
  /** treats Global Privacy Control as a refusal */
  respectsGpc?: boolean
  /** loads a pinned copy with integrity check */
  pinned?: Uint8Array
}

export type SnippetSource = Pick<SnippetTag, 'baseUrl' | 'siteId' | 'stub'> & { script: Uint8Array }

export const makeSnippetTags = ({ script, ...tag }: SnippetSource) => ({
  plain: makeSnippetTag(tag),
  consent: makeSnippetTag({ ...tag, requiresConsent: true }),
  pinned: makeSnippetTag({ ...tag, pinned: script }),
})

export const pinnedScriptPath = (script: Uint8Array): string => `/s.${scriptHash(script)}.js`

export const scriptHash = (script: Uint8Array): string => Bun.SHA256.hash(script, 'hex').slice(0, HASH_CHARACTERS)

/** The stub queues calls until the script is loaded. */
export function makeSnippetTag(tag: SnippetTag): string {
  const attributes: [name: string, value: string][] = [
    ['src', tag.baseUrl + (tag.pinned ? pinnedScriptPath(tag.pinned) : '/s.js')],
    ['data-site', tag.siteId],
  ]
  if (tag.requiresConsent) attributes.push(['data-consent', 'required'])
  if (tag.respectsGpc) attributes.push(['data-gpc', 'respect'])
  // otherwise browsers may send the page's full address
  attributes.push(['referrerpolicy', 'strict-origin'])
  // integrity checks need CORS
  if (tag.pinned) attributes.push(['integrity', integrityOf(tag.pinned)], ['crossorigin', 'anonymous'])
  const written = attributes.map(([name, value]) => `${name}="${Bun.escapeHTML(value)}"`)
  return `<script>${tag.stub}</script>\n<script async ${written.join(' ')}></script>`
}

/** The stub by its hash, and the service's origin. */
export function makeSnippetPolicy({ baseUrl, stub }: Pick<SnippetTag, 'baseUrl' | 'stub'>): string {
  const { origin } = new URL(baseUrl)
  return `script-src '${stubHash(stub)}' ${origin}; connect-src ${origin}`
}

/** `sha256-` and base64, without quotes. */
export const stubHash = (stub: string): string => `sha256-${Bun.SHA256.hash(stub, 'base64')}`

const integrityOf = (script: Uint8Array): string => `sha384-${Bun.SHA384.hash(script, 'base64')}`
