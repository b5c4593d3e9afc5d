import type { Integration } from './integration/index.ts'
import { makeSnippetTag, type SnippetTag } from './snippet-tag.ts'

/** Of an app's tag: where and whose, and the two scripts as they were built. */
export type SnippetSource = Pick<SnippetTag, 'baseUrl' | 'siteId' | 'stub'> & { script: Uint8Array }

/** `hint`: what is true of this form alone. */
type SnippetForm = Integration & { hint?: string }

const IDENTIFY = {
  label: 'After sign-in',
  code: `// both from your server, which signs the email
service('identify', { email: user.email, signature: user.signature })`,
}

const CONSENT = {
  label: 'When the visitor decides',
  code: `// before this, nothing is sent and nothing is kept
service('consent', true)

// when they refuse, or take it back
service('consent', false)`,
}

const PINNED = 'Browsers run exactly this script and no other: paste the tag again with every upgrade of Eventpost.'

/** The tag in the forms that pages need, with the calls that belong to each. */
export function snippetCode({ script, ...tag }: SnippetSource): SnippetForm[] {
  const block = (more: Partial<SnippetTag> = {}) => ({
    label: 'In the head of every page',
    code: makeSnippetTag({ ...tag, ...more }),
  })
  return [
    { id: 'plain', name: 'Plain', blocks: [block(), IDENTIFY] },
    { id: 'consent', name: 'With consent', blocks: [block({ requiresConsent: true }), CONSENT, IDENTIFY] },
    { id: 'pinned', name: 'Pinned (SRI)', blocks: [block({ pinned: script }), IDENTIFY], hint: PINNED },
  ]
}
