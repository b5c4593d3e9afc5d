import type { AnyElysia } from 'elysia'
import { createLazy } from '../../core/lazy.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import type { RouteFinder } from '../../http/request-paths.ts'

type Dashboard = typeof import('../index.ts')

export type Router = { app: AnyElysia; findRoute: RouteFinder }

type Opened = Router & Pick<Dashboard, 'refusalPage'>

export type Pages = ReturnType<typeof openPages>

/**
 * The dashboard is loaded on the first browser request: it takes 4 to 6 MB and 20 ms, and some installations serve only
 * programs.
 */
export function openPages(build: (dashboardRoutes: Dashboard['dashboardRoutes']) => Router) {
  let opened: Opened | null = null

  const dashboard = createLazy(async () => {
    const { dashboardRoutes, refusalPage } = await import('../index.ts')
    opened = { ...build(dashboardRoutes), refusalPage }
    return opened
  })

  return {
    /** Handles requests outside the API and the MCP server. */
    answer: async (request: Request): Promise<Response> => (await dashboard.get()).app.fetch(request),
    /** null if unknown or not loaded yet. */
    findRoute: (path: string): string | null => opened?.findRoute(path) ?? null,
    /** A page for browsers; null for programs, which get JSON. */
    refuse: async (request: Request, refusal: RefusalCode): Promise<Response | null> =>
      isForPerson(request) ? (await dashboard.get()).refusalPage(request, refusal) : null,
  }
}

const isForPerson = ({ headers, url }: Request): boolean =>
  headers.get('accept')?.includes('text/html') === true && !new URL(url).pathname.startsWith('/api/')
