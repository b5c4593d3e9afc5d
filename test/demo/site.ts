/** A small customer's site: people sign in, look around, and have pictures made. Everything is in memory. */
import { join } from 'node:path'
import { addPerson, type Eventpost, sendResultsReady, signEmail, type User } from './eventpost.ts'
import * as pages from './pages.ts'

/** How long a pretended job takes. */
const JOB_MS = 4_000
const HEADLINE = 'Your 12 pictures are ready.'
const HTML = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }
const BROWSER = join(import.meta.dir, 'browser')

export type DemoOptions = {
  eventpost: Eventpost
  /** as it was pasted */
  tag: string
  /** 0 takes a free one */
  port?: number
  jobMs?: number
  /** what a job waits for, instead of a time */
  work?: () => Promise<unknown>
}

/** Serves the site until `stop`. */
export function startSite({ eventpost, tag, port = 0, jobMs = JOB_MS, work = () => Bun.sleep(jobMs) }: DemoOptions) {
  const sessions = new Map<string, User>()
  const results = new Map<string, { user: User; headline: string }>()

  const findUser = (request: Request): User | undefined =>
    sessions.get(new Bun.CookieMap(request.headers.get('cookie') ?? '').get('session') ?? '')

  /** A page of its own for everyone who is signed in; the others are sent to sign in. */
  const forSignedIn = (render: (signedIn: pages.SignedIn) => string) => (request: Request) => {
    const user = findUser(request)
    if (!user) return redirect('/')
    return show(render({ tag, user, signature: signEmail(eventpost, user.email) }))
  }

  async function signIn(request: Request): Promise<Response> {
    const form = await request.formData()
    const user = { email: String(form.get('email')), firstName: String(form.get('firstName') ?? '') }
    const session = crypto.randomUUID()
    sessions.set(session, user)
    // nobody who signs in waits for Eventpost
    void addPerson(eventpost, user)
    return redirect('/home', `session=${session}; HttpOnly; SameSite=Lax; Path=/`)
  }

  async function runJob(request: Request): Promise<Response> {
    const user = findUser(request)
    if (!user) return new Response(null, { status: 401 })
    await work()
    const id = crypto.randomUUID()
    const path = `/results/${id}`
    results.set(id, { user, headline: HEADLINE })
    void sendResultsReady(eventpost, user, { id, url: new URL(path, request.url).href, headline: HEADLINE })
    return Response.json({ path })
  }

  const server = Bun.serve({
    hostname: 'localhost',
    port,
    development: false,
    routes: {
      '/': (request) => (findUser(request) ? redirect('/home') : show(pages.signInPage())),
      '/sign-in': { POST: signIn },
      '/sign-out': { POST: () => redirect('/', 'session=; Max-Age=0; Path=/') },
      '/home': forSignedIn(pages.homePage),
      '/settings': forSignedIn(pages.settingsPage),
      '/studio/*': forSignedIn(pages.studioPage),
      '/jobs': { POST: runJob },
      '/results/:id': (request) => {
        const result = results.get(request.params.id)
        if (!result || findUser(request)?.email !== result.user.email) return show(pages.missingPage(), 404)
        return forSignedIn((signedIn) => pages.resultPage(signedIn, result.headline))(request)
      },
      '/demo.js': () => new Response(Bun.file(join(BROWSER, 'demo.js'))),
      '/style.css': () => new Response(Bun.file(join(BROWSER, 'style.css'))),
    },
    fetch: () => show(pages.missingPage(), 404),
  })
  return { url: `http://localhost:${server.port}`, stop: () => server.stop(true) }
}

const show = (html: string, status = 200): Response => new Response(html, { status, headers: HTML })

const redirect = (path: string, cookie?: string): Response =>
  new Response(null, { status: 303, headers: { Location: path, ...(cookie ? { 'Set-Cookie': cookie } : {}) } })
