/** The two lines that customers paste into their pages, and what their Content-Security-Policy needs. */

/** Of the hash in a fixed copy's name: 16 characters of hex are 64 bits. */
const HASH_CHARACTERS = 16

export type SnippetTag = {
  /** where browsers reach the service, without a slash at its end */
  baseUrl: string
  siteId: string
  /** text of the built stub */
  stub: string
  /** nothing is sent before `service("consent", true)` */
  requiresConsent?: boolean
  /** treats Global Privacy Control as a refusal */
  respectsGpc?: boolean
  /** bytes of the built script: the tag names a copy that never changes, and browsers refuse any other */
  pinned?: Uint8Array
}

/** Of an app's tag: where and whose, and the two scripts as they were built. */
export type SnippetSource = Pick<SnippetTag, 'baseUrl' | 'siteId' | 'stub'> & { script: Uint8Array }

/** The tag in the forms that pages need. */
export const makeSnippetTags = ({ script, ...tag }: SnippetSource) => ({
  plain: makeSnippetTag(tag),
  consent: makeSnippetTag({ ...tag, requiresConsent: true }),
  pinned: makeSnippetTag({ ...tag, pinned: script }),
})

/** Path of the copy of the script that never changes: `/s.`, 16 characters of its hash, and `.js`. */
export const pinnedScriptPath = (script: Uint8Array): string => `/s.${scriptHash(script)}.js`

/** What tells one build of the script from another. */
export const scriptHash = (script: Uint8Array): string => Bun.SHA256.hash(script, 'hex').slice(0, HASH_CHARACTERS)

/** HTML of the tag: the stub, which keeps calls until the script is there, and the script. */
export function makeSnippetTag(tag: SnippetTag): string {
  const attributes: [name: string, value: string][] = [
    ['src', tag.baseUrl + (tag.pinned ? pinnedScriptPath(tag.pinned) : '/s.js')],
    ['data-site', tag.siteId],
  ]
  if (tag.requiresConsent) attributes.push(['data-consent', 'required'])
  if (tag.respectsGpc) attributes.push(['data-gpc', 'respect'])
  // without the attribute the whole address of the page goes along, where its policy says so
  attributes.push(['referrerpolicy', 'strict-origin'])
  // another origin's script can be checked only when it was asked for with CORS
  if (tag.pinned) attributes.push(['integrity', integrityOf(tag.pinned)], ['crossorigin', 'anonymous'])
  const written = attributes.map(([name, value]) => `${name}="${Bun.escapeHTML(value)}"`)
  return `<script>${tag.stub}</script>\n<script async ${written.join(' ')}></script>`
}

/** The directives that a page's policy needs: the stub by its hash, the service's origin for script and calls (4.5, 4). */
export function makeSnippetPolicy({ baseUrl, stub }: Pick<SnippetTag, 'baseUrl' | 'stub'>): string {
  const { origin } = new URL(baseUrl)
  return `script-src '${stubHash(stub)}' ${origin}; connect-src ${origin}`
}

/** The stub as a source of `script-src`, without its quotes: `sha256-` and base64. */
export const stubHash = (stub: string): string => `sha256-${Bun.SHA256.hash(stub, 'base64')}`

const integrityOf = (script: Uint8Array): string => `sha384-${Bun.SHA384.hash(script, 'base64')}`
