import { Elysia } from 'elysia'
import { factsOf } from '../http/request-facts.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSignIns } from '../accounts/sign-ins.ts'
import { accountNameRoutes, membersRoutes } from './access/members.tsx'
import { activationRoutes } from './activation/activation.tsx'
import { auditRoutes } from './access/audit.tsx'
import { deliveriesRoutes } from './deliveries/deliveries.tsx'
import { docsRoutes } from './docs/docs.tsx'
import { eventsRoutes } from './events/events.tsx'
import { createGuard } from './layout/guard.ts'
import type { PageParts } from './layout/viewer.ts'
import { homeRoutes } from './layout/home.tsx'
import { keysRoutes } from './access/keys.tsx'
import { messagesRoutes } from './messages/messages.tsx'
import { newAppRoutes } from './settings/new-app.tsx'
import { outboxRoutes } from './deliveries/outbox.tsx'
import { passwordRoutes } from './access/password.tsx'
import { peopleRoutes } from './people/people.tsx'
import { problemAnswer } from './layout/problems.tsx'
import { secretRoutes } from './access/secret.tsx'
import { senderKeysRoutes } from './sender/sender-keys.tsx'
import { senderRoutes } from './sender/sender.tsx'
import { settingsRoutes } from './settings/settings.tsx'
import { setupRoutes } from './access/setup.tsx'
import { signInCodeRoutes } from './access/sign-in-code.tsx'
import { signInRoutes } from './access/sign-in.tsx'
import { suppressionsRoutes } from './people/suppressions.tsx'
import { themeRoutes } from './layout/theme-switch.tsx'
import { twoStepRoutes } from './access/two-step.tsx'
import { youRoutes } from './access/you.tsx'
import { unsubscribeRoutes } from './people/unsubscribe.tsx'

export { refusalPage } from './layout/refusal-page.tsx'

/** `host` is the address that the server is bound to; loopback names are accepted on loopback. */
export function dashboardRoutes(given: Omit<PageParts, 'sessions' | 'signIns'> & { host?: string }) {
  const parts: PageParts = { ...given, sessions: createSessions(given), signIns: createSignIns(given) }
  const findFault = createGuard(parts)
  return (
    new Elysia()
      // the router sets invalid percent-encoding to null
      .onBeforeHandle(({ request, params }) => {
        if (Object.values<unknown>(params ?? {}).includes(null)) return problemAnswer(request, 'page_unknown')
      })
      // before the guard: mail programs post here without browser headers
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
  )
}
