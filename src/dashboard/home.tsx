import { Elysia } from 'elysia'
import type { Parts } from '../core/parts.ts'
import { pageAnswer } from './answers.ts'
import { Layout } from './layout.tsx'

/** What is seen at the address itself. */
export const homeRoutes = ({ store, baseUrl }: Parts) =>
  new Elysia().get('/', async ({ request }) =>
    pageAnswer(request, 200, <HomePage isSetUp={await store.isSetUp()} baseUrl={baseUrl} />),
  )

const HomePage = ({ isSetUp, baseUrl }: { isSetUp: boolean; baseUrl: string }) =>
  isSetUp ? (
    <Layout title="Eventpost is running" lead="It takes people and events from your server and keeps them.">
      <p>
        Your server sends them to <code>{baseUrl}/api/v1</code> with its API key. Every call is described in the{' '}
        <a href="/api/v1/docs">API documentation</a>.
      </p>
    </Layout>
  ) : (
    <Layout title="Eventpost is running" lead="It is not set up yet.">
      <p>
        The link that sets it up is printed in the terminal where the server was started. It works once, and only the
        one printed last.
      </p>
    </Layout>
  )
