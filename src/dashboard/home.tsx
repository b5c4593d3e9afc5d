/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { pageAnswer, redirectAnswer } from './answers.ts'
import { findSignedIn, type PageParts } from './door.tsx'
import { pathOf } from './frame.tsx'
import { Layout } from './layout.tsx'

/** The address itself leads on: to one's first app, or to signing in. */
export const homeRoutes = (parts: PageParts) =>
  new Elysia().get('/', async ({ request }) => {
    if (!(await parts.store.isSetUp())) return pageAnswer(request, 200, <HomePage />)
    const signedIn = await findSignedIn(parts, request)
    const [app] = signedIn ? await parts.store.listApps(signedIn.member.accountId) : []
    return redirectAnswer(app ? pathOf(app.publicId, 'activation') : '/sign-in')
  })

const HomePage = () => (
  <Layout title="Eventpost is running" lead="It is not set up yet.">
    <p>
      The link that sets it up is printed in the terminal where the server was started. It works once, and only the one
      printed last.
    </p>
  </Layout>
)
