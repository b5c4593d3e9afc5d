import type { Begun } from '../core/accounts.ts'
import { Layout } from './layout.tsx'
import { CodeBlock } from './parts/code.tsx'
import { Notice } from './parts/notice.tsx'
import { Value, Values } from './parts/values.tsx'

type SetupDoneProps = { begun: Begun; baseUrl: string; email: string; domain: string }

/** The only page that ever shows the first key (spec 2.2, 2.3, 5.5). */
export const SetupDonePage = (props: SetupDoneProps) => (
  <Layout title="Eventpost is set up" lead="Store these values, then send a first event.">
    <Notice kind="caution">
      The API key is shown once, on this page; only a hash of it is kept. Reloading does not bring it back.
    </Notice>
    <ValuesSection {...props.begun} />
    <EnvironmentSection {...props.begun} />
    <section>
      <h2>Send a first event</h2>
      <p>
        Paste this into a terminal. It adds you as the first person, and answers with <code>"ok":true</code>.
      </p>
      <CodeBlock id="command" label="Command that sends an event">
        {curlCommand(props)}
      </CodeBlock>
    </section>
  </Layout>
)

const ValuesSection = ({ appId, siteId, apiKey, identitySecret }: Begun) => (
  <section>
    <h2>Your values</h2>
    <p class="hint">A click on a value selects all of it.</p>
    <Values>
      <Value id="app-id" name="App ID">
        {appId}
      </Value>
      <Value id="site-id" name="Site ID">
        {siteId}
      </Value>
      <Value id="api-key" name="API key">
        {apiKey}
      </Value>
      <Value id="identity-secret" name="Identity secret">
        {identitySecret}
      </Value>
    </Values>
  </section>
)

const EnvironmentSection = (begun: Begun) => (
  <section>
    <h2>For the environment of your server</h2>
    <p>
      Keep both on the server. Never put them into code that runs in a browser, into variables with a public prefix such
      as <code>NEXT_PUBLIC_</code> or <code>VITE_</code>, or into an AI chat.
    </p>
    <CodeBlock id="environment" label="Environment variables">
      {environmentLines(begun)}
    </CodeBlock>
  </section>
)

const environmentLines = ({ apiKey, identitySecret }: Begun): string =>
  `SERVICE_API_KEY=${apiKey}\nSERVICE_IDENTITY_SECRET=${identitySecret}`

function curlCommand({ begun, baseUrl, email, domain }: SetupDoneProps): string {
  const scheme = domain === 'localhost' ? 'http' : 'https'
  const event = {
    app: begun.appId,
    email,
    event: 'results_ready',
    createContact: true,
    properties: { url: `${scheme}://${domain}/results/1`, headline: 'Your results are ready.' },
  }
  return [
    `curl ${quote(`${baseUrl}/api/v1/events`)}`,
    `-H ${quote(`Authorization: Bearer ${begun.apiKey}`)}`,
    `-H ${quote('Content-Type: application/json')}`,
    `-d ${quote(JSON.stringify(event, null, 2).replaceAll('\n', '\n  '))}`,
  ].join(' \\\n  ')
}

/** One word for a POSIX shell; an email may hold an apostrophe. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
