/** Code samples for the dashboard, MCP and the documentation. test/docs/samples.test.ts runs every file in samples/. */
import consent from '#samples/browser/consent.js' with { type: 'text' }
import identify from '#samples/browser/identify.js' with { type: 'text' }
import bunEvents from '#samples/bun/events.ts' with { type: 'text' }
import bunIdentity from '#samples/bun/identity.ts' with { type: 'text' }
import curlEvent from '#samples/curl/event.sh' with { type: 'text' }
import curlIdentity from '#samples/curl/identity.sh' with { type: 'text' }
import emails from '#samples/messages/emails.json' with { type: 'text' }
import goIdentity from '#samples/go/identity.go' with { type: 'text' }
import goMain from '#samples/go/main.go' with { type: 'text' }
import nextAction from '#samples/nextjs/action.ts' with { type: 'text' }
import nextLibrary from '#samples/nextjs/eventpost.ts' with { type: 'text' }
import nextIdentify from '#samples/nextjs/identify.tsx' with { type: 'text' }
import nodeEvents from '#samples/node/events.mjs' with { type: 'text' }
import nodeIdentity from '#samples/node/identity.mjs' with { type: 'text' }
import phpEvents from '#samples/php/events.php' with { type: 'text' }
import phpIdentity from '#samples/php/identity.php' with { type: 'text' }
import pythonEvents from '#samples/python/events.py' with { type: 'text' }
import pythonIdentity from '#samples/python/identity.py' with { type: 'text' }
import rubyEvents from '#samples/ruby/events.rb' with { type: 'text' }
import rubyIdentity from '#samples/ruby/identity.rb' with { type: 'text' }
import compose from '#samples/install/compose.yaml' with { type: 'text' }
import scaleOutCompose from '#samples/scale-out/compose.yaml' with { type: 'text' }
import haproxy from '#samples/scale-out/haproxy.cfg' with { type: 'text' }
import kubernetes from '#samples/scale-out/kubernetes.yaml' with { type: 'text' }
import systemd from '#samples/install/eventpost.service' with { type: 'text' }
import environment from '#samples/start/environment.sh' with { type: 'text' }
import { type CodeSample, requestSamples, type SampleBlock } from './request-samples.ts'

export type { CodeSample }

/** Shown wherever a key or secret is shown. */
export const SECRETS_WARNING =
  'Keep keys and secrets on your server. Never put them into code that runs in a browser, into variables with a public prefix such as NEXT_PUBLIC_ or VITE_, or into an AI chat.'

/** A message file with the emails of a SaaS, in the order of their documentation. */
export const EMAILS_FILE = emails

const PLACEHOLDER = /\{([a-z_]+)\}/g

/** Characters with a meaning in quoted text of any of these languages. */
const UNQUOTABLE = /["'$`\\#{}<>\s]/g

export const fillSample = (text: string, values: Record<string, string>): string =>
  text.trimEnd().replaceAll(PLACEHOLDER, (written, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return value?.replaceAll(UNQUOTABLE, percentEncode) ?? written
  })

const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

export type SampleValues = { baseUrl: string; appId: string; homeUrl: string }

const SERVER_SAMPLES: CodeSample[] = [
  sample('curl', 'curl', { 'Send an event': curlEvent, 'Sign an email address': curlIdentity }),
  sample('node', 'Node', { 'events.mjs': nodeEvents, 'identity.mjs': nodeIdentity }),
  sample('bun', 'Bun', { 'events.ts': bunEvents, 'identity.ts': bunIdentity }),
  sample('python', 'Python', { 'events.py': pythonEvents, 'identity.py': pythonIdentity }),
  sample('php', 'PHP', { 'events.php': phpEvents, 'identity.php': phpIdentity }),
  sample('ruby', 'Ruby', { 'events.rb': rubyEvents, 'identity.rb': rubyIdentity }),
  sample('go', 'Go', { 'main.go': goMain, 'identity.go': goIdentity }),
  sample('nextjs', 'Next.js', {
    'lib/eventpost.ts': nextLibrary,
    'In a server action or a route handler': nextAction,
    'components/identify.tsx': nextIdentify,
  }),
]

function sample(id: string, name: string, texts: Record<string, string>): CodeSample {
  return { id, name, blocks: Object.entries(texts).map(([label, code]) => ({ label, code })) }
}

export const SAMPLE_LANGUAGES: readonly string[] = SERVER_SAMPLES.map(({ id }) => id)

/** Most common first. Secrets are never filled in. */
export function serverSamples({ baseUrl, appId, homeUrl }: SampleValues): CodeSample[] {
  const values = { base_url: baseUrl, app_id: appId, home_url: homeUrl }
  return SERVER_SAMPLES.map((one) => ({
    ...one,
    blocks: one.blocks.map(({ label, code }) => ({ label, code: fillSample(code, values) })),
  }))
}

const PINNED = 'Pins one build. Replace the tag after every upgrade.'

export function browserSamples(tags: { plain: string; consent: string; pinned: string }): CodeSample[] {
  const head = (code: string): SampleBlock => ({ label: 'In the head of every page', code })
  const signIn = { label: 'After sign-in', code: identify.trimEnd() }
  const decision = { label: 'When the visitor decides', code: consent.trimEnd() }
  return [
    { id: 'plain', name: 'Plain', blocks: [head(tags.plain), signIn] },
    { id: 'consent', name: 'With consent', blocks: [head(tags.consent), decision, signIn] },
    { id: 'pinned', name: 'Pinned (SRI)', blocks: [head(tags.pinned), signIn], hint: PINNED },
  ]
}

/** For a shell or .env file. Without `export`, programs started by the shell wouldn't see them. */
export const environmentSample = (apiKey: string, identitySecret: string): string =>
  fillSample(environment, { api_key: apiKey, identity_secret: identitySecret })

/** Values of a reader who is not signed in. */
export const EXAMPLE_VALUES = { app_id: 'APP_ID', home_url: 'https://app.example.com' }

const single = (id: string, label: string, code: string): CodeSample[] => [
  { id, name: label, blocks: [{ label, code: code.trimEnd() }] },
]

/** The file for events and the one for signatures. Next.js has both in its first file, and a second one for each. */
const ofEach = (place: 0 | 1): CodeSample[] =>
  SERVER_SAMPLES.map((one) => ({
    ...one,
    blocks: one.blocks.filter((_, index) =>
      one.id === 'nextjs' ? index === 0 || index === place + 1 : index === place,
    ),
  }))

/** Samples of the documentation by name: a paragraph `{samples:NAME}` in Markdown. One entry per language. */
export const PAGE_SAMPLES: ReadonlyMap<string, CodeSample[]> = new Map(
  Object.entries({
    environment: single('shell', 'Server environment', environmentSample('mc_...', '...')),
    event: ofEach(0),
    identity: ofEach(1),
    identify: single('browser', 'After sign-in', identify),
    consent: single('browser', 'When the visitor decides', consent),
    send: requestSamples({
      method: 'POST',
      url: '{base_url}/api/v1/send',
      body: {
        app: '{app_id}',
        email: 'jane@example.com',
        createContact: true,
        message: 'Receipt',
        properties: { number: 'R-7', total: '$29.00', url: '{home_url}/receipts/7' },
      },
    }),
    compose: single('yaml', 'src/docs/samples/install/compose.yaml', compose),
    haproxy: single('haproxy', 'src/docs/samples/scale-out/haproxy.cfg', haproxy),
    'scale-out-compose': single('yaml', 'src/docs/samples/scale-out/compose.yaml', scaleOutCompose),
    kubernetes: single('yaml', 'src/docs/samples/scale-out/kubernetes.yaml', kubernetes),
    systemd: single('ini', 'src/docs/samples/install/eventpost.service', systemd),
    'save-message': requestSamples({
      method: 'POST',
      url: '{base_url}/api/v1/messages',
      body: {
        app: '{app_id}',
        message: {
          name: 'Trial ended',
          trigger: { event: 'trial_ended' },
          wait: { minutes: 60 },
          onlyIf: [{ rule: 'notDone', event: 'checkout.paid' }],
          mail: { subject: 'Your trial has ended', body: 'Hello, [choose a plan]({home_url}/plans) to continue.' },
        },
      },
    }),
    'read-events': requestSamples({ method: 'GET', url: '{base_url}/api/v1/events?app={app_id}' }),
  }),
)
