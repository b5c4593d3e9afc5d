import { Elysia } from 'elysia'
import type { Parts } from '../core/parts.ts'
import { factsOf } from '../core/request-facts.ts'
import { createSessions } from '../core/sessions.ts'
import { createSignIns } from '../core/sign-ins.ts'
import { accountNameRoutes } from './account-name.tsx'
import { activationRoutes } from './activation.tsx'
import { auditRoutes } from './audit.tsx'
import { deliveriesRoutes } from './deliveries.tsx'
import { docsRoutes } from './docs.tsx'
import { eventsRoutes } from './events.tsx'
import { createGuard } from './guard.ts'
import type { PageParts } from './door.tsx'
import { homeRoutes } from './home.tsx'
import { keysRoutes } from './keys.tsx'
import { membersRoutes } from './members.tsx'
import { messagesRoutes } from './messages.tsx'
import { newAppRoutes } from './new-app.tsx'
import { outboxRoutes } from './outbox.tsx'
import { passwordRoutes } from './password.tsx'
import { peopleRoutes } from './people.tsx'
import { problemAnswer } from './problems.tsx'
import { secretRoutes } from './secret.tsx'
import { senderKeysRoutes } from './sender-keys.tsx'
import { senderRoutes } from './sender.tsx'
import { settingsRoutes } from './settings.tsx'
import { setupRoutes } from './setup.tsx'
import { showcaseRoutes } from './showcase/index.tsx'
import { signInCodeRoutes } from './sign-in-code.tsx'
import { signInRoutes } from './sign-in.tsx'
import { suppressionsRoutes } from './suppressions.tsx'
import { themeRoutes } from './theme-switch.tsx'
import { twoStepRoutes } from './two-step.tsx'
import { youRoutes } from './you.tsx'
import { unsubscribeRoutes } from './unsubscribe.tsx'

export { refusalPage } from './refusal-page.tsx'

/** The pages. `host` is the address the server is bound to: on loopback, loopback names are known too. */
export function dashboardRoutes(given: Parts & { host?: string }) {
  const parts: PageParts = { ...given, sessions: createSessions(given), signIns: createSignIns(given) }
  const findFault = createGuard(parts)
  return (
    new Elysia()
      // the router gives null for what is not percent-encoded UTF-8
      .onBeforeHandle(({ request, params }) => {
        if (Object.values<unknown>(params ?? {}).includes(null)) return problemAnswer(request, 'page_unknown')
      })
      // before the guard: mail programs post here from anywhere, and without a browser's headers
      .use(unsubscribeRoutes(parts))
      .onBeforeHandle(({ request }) => {
        const fault = findFault(request)
        if (!fault) return
        const address = parts.signInNotes.hashAddress(factsOf(request).address())
        parts.noteSecurity('warn', 'request refused', { reason: fault, address })
        return problemAnswer(request, fault)
      })
      .use(homeRoutes(parts))
      .use(setupRoutes(parts))
      .use(passwordRoutes(parts))
      .use(signInRoutes(parts))
      .use(signInCodeRoutes(parts))
      .use(activationRoutes(parts))
      .use(eventsRoutes(parts))
      .use(peopleRoutes(parts))
      .use(deliveriesRoutes(parts))
      .use(outboxRoutes(parts))
      .use(suppressionsRoutes(parts))
      .use(messagesRoutes(parts))
      .use(keysRoutes(parts))
      .use(secretRoutes(parts))
      .use(senderRoutes(parts))
      .use(senderKeysRoutes(parts))
      .use(settingsRoutes(parts))
      .use(membersRoutes(parts))
      .use(accountNameRoutes(parts))
      .use(auditRoutes(parts))
      .use(newAppRoutes(parts))
      .use(youRoutes(parts))
      .use(twoStepRoutes(parts))
      .use(themeRoutes(parts))
      .use(docsRoutes(parts))
      // for who works on it; the executable does not know it
      .use(Bun.isStandaloneExecutable ? new Elysia() : showcaseRoutes(parts))
  )
}
