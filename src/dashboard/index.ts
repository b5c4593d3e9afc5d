import { Elysia } from 'elysia'
import type { Parts } from '../core/parts.ts'
import { createGuard } from './guard.ts'
import { homeRoutes } from './home.tsx'
import { passwordRoutes } from './password.tsx'
import { problemAnswer } from './problems.tsx'
import { setupRoutes } from './setup.tsx'
import { showcaseRoutes } from './showcase/index.tsx'
import { themeRoutes } from './theme.tsx'

export { refusalPage } from './problems.tsx'

/** The pages. `host` is the address the server is bound to: on loopback, loopback names are known too. */
export function dashboardRoutes(parts: Parts & { host?: string }) {
  const findFault = createGuard(parts)
  return (
    new Elysia()
      .onBeforeHandle(({ request }) => {
        const fault = findFault(request)
        if (fault) return problemAnswer(request, fault)
      })
      .use(homeRoutes(parts))
      .use(setupRoutes(parts))
      .use(passwordRoutes(parts))
      .use(themeRoutes(parts))
      // for who works on it; the executable does not know it
      .use(Bun.isStandaloneExecutable ? new Elysia() : showcaseRoutes(parts))
  )
}
