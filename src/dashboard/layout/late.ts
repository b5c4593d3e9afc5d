import type { AnyElysia } from 'elysia'
import { createLazy } from '../../core/lazy.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import type { RouteFinder } from '../../http/request-paths.ts'

type Dashboard = typeof import('../index.ts')

/** Some of the routes, and which of them a path leads to. */
export type Router = { app: AnyElysia; findRoute: RouteFinder }

type Opened = Router & Pick<Dashboard, 'refusalPage'>

export type Pages = ReturnType<typeof openPages>

/**
 * What people look at, loaded with the first request for what is no program's: it takes 4 to 6 MB (measured), and an
 * installation may run for weeks with nothing but programs calling it. That request takes 20 ms more, and others wait as
 * long. `build` makes a router of the dashboard's routes.
 */
export function openPages(build: (dashboardRoutes: Dashboard['dashboardRoutes']) => Router) {
  let opened: Opened | null = null

  const dashboard = createLazy(async () => {
    const { dashboardRoutes, refusalPage } = await import('../index.ts')
    opened = { ...build(dashboardRoutes), refusalPage }
    return opened
  })

  return {
    /** Answers whatever the API and the MCP server do not. */
    answer: async (request: Request): Promise<Response> => (await dashboard.get()).app.fetch(request),
    /** null for what is no page, and as long as nobody asked for one. */
    findRoute: (path: string): string | null => opened?.findRoute(path) ?? null,
    /** A refusal for someone who looks through a browser; null for a program, which gets JSON. */
    refuse: async (request: Request, refusal: RefusalCode): Promise<Response | null> =>
      isForPerson(request) ? (await dashboard.get()).refusalPage(request, refusal) : null,
  }
}

const isForPerson = ({ headers, url }: Request): boolean =>
  headers.get('accept')?.includes('text/html') === true && !new URL(url).pathname.startsWith('/api/')
