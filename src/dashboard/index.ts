import { Elysia } from 'elysia'
import type { Parts } from '../core/parts.ts'
import { createGuard } from './guard.ts'
import { homeRoutes } from './home.tsx'
import { passwordRoutes } from './password.tsx'
import { problemAnswer } from './problems.tsx'
import { setupRoutes } from './setup.tsx'
import { unsubscribeRoutes } from './unsubscribe.tsx'

export { refusalPage } from './problems.tsx'

/** The pages. `host` is the address the server is bound to: on loopback, loopback names are known too. */
export function dashboardRoutes(parts: Parts & { host?: string }) {
  const findFault = createGuard(parts)
  return (
    new Elysia()
      // before the guard: mail programs post here from anywhere, and without a browser's headers
      .use(unsubscribeRoutes(parts))
      .onBeforeHandle(({ request }) => {
        const fault = findFault(request)
        if (fault) return problemAnswer(fault)
      })
      .use(homeRoutes(parts))
      .use(setupRoutes(parts))
      .use(passwordRoutes(parts))
  )
}
