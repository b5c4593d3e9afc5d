/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { pageAnswer, redirectAnswer } from './answers.ts'
import { findLastApp, findSignedIn } from './require-member.tsx'
import { type PageDependencies } from './viewer.ts'
import { homePath } from './frame.tsx'
import { Layout } from './layout.tsx'
import { Button } from '../ui/button.tsx'
import { Command } from '../ui/text.tsx'

/** Redirects to the last app, the first app, or sign-in. */
export const homeRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps', () => redirectAnswer('/'))
    .get('/', async ({ request }) => {
      if (!(await deps.store.isSetUp())) return pageAnswer(request, 200, <HomePage />)
      const signedIn = await findSignedIn(deps, request)
      if (!signedIn) return redirectAnswer('/sign-in')
      const access = await findLastApp(deps, request, signedIn.member.id)
      return access
        ? redirectAnswer(homePath(access.appId, access))
        : pageAnswer(request, 200, <NowherePage email={signedIn.member.email} />)
    })

const HomePage = () => (
  <Layout title="Eventpost is running" lead="It isn't set up yet.">
    <p>
      The setup link is printed in the terminal where the server was started. Only the newest link works, and only once.
    </p>
  </Layout>
)

/** For people without any app. */
const NowherePage = ({ email }: { email: string }) => (
  <Layout title="No app yet" lead={`You are signed in as ${email}, but none of your accounts has an app.`}>
    <p>
      If you were invited to an account, open your invitation link. Otherwise, ask an owner to invite you, or the
      operator of this installation to create an app: <Command>eventpost app create</Command>
    </p>
    <form class="next" method="post" action="/sign-out">
      <Button>Sign out</Button>
    </form>
  </Layout>
)
