import { Elysia } from 'elysia'
import { factsOf } from '../http/request-facts.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSignIns } from '../accounts/sign-ins.ts'
import { accountNameRoutes, membersRoutes } from './access/members.tsx'
import { activationRoutes } from './activation/activation.tsx'
import { auditRoutes } from './access/audit.tsx'
import { deliveriesRoutes } from './deliveries/deliveries.tsx'
import { type DocsDependencies, docsRoutes } from './docs/docs.tsx'
import { eventsRoutes } from './events/events.tsx'
import { createGuard } from './layout/guard.ts'
import { homeRoutes } from './layout/home.tsx'
import { keysRoutes } from './access/keys.tsx'
import { messagesRoutes } from './messages/messages.tsx'
import { newAppRoutes } from './settings/new-app.tsx'
import { outboxRoutes } from './deliveries/outbox.tsx'
import { overviewRoutes } from './overview/overview.tsx'
import { passwordRoutes } from './access/password.tsx'
import { peopleRoutes } from './people/people.tsx'
import { problemAnswer } from './layout/problems.tsx'
import { createRefusalPage } from './layout/refusal-page.tsx'
import { requestsRoutes } from './requests/requests.tsx'
import { secretRoutes } from './access/secret.tsx'
import { senderKeysRoutes } from './sender/sender-keys.tsx'
import { senderWebhookRoutes } from './sender/webhooks.tsx'
import { senderDomainRoutes } from './sender/domain.tsx'
import { senderOptInRoutes } from './sender/opt-in.tsx'
import { senderRatesRoutes } from './sender/rates.tsx'
import { senderServerRoutes } from './sender/server.tsx'
import { layoutRoutes } from './sender/layout.tsx'
import { textsRoutes } from './sender/texts.tsx'
import { senderTopicRoutes } from './sender/topics.tsx'
import { senderRoutes } from './sender/sender.tsx'
import { settingsRoutes } from './settings/settings.tsx'
import { setupRoutes } from './access/setup.tsx'
import { signInCodeRoutes } from './access/sign-in-code.tsx'
import { signInRoutes } from './access/sign-in.tsx'
import { suppressionsRoutes } from './people/suppressions.tsx'
import { systemRoutes } from './system/system.tsx'
import { themeRoutes } from './layout/theme-switch.tsx'
import { twoStepRoutes } from './access/two-step.tsx'
import { summaryLinkRoutes, summaryRoutes } from './access/weekly-summary.tsx'
import { youRoutes } from './access/you.tsx'
import { confirmRoutes } from './people/confirm.tsx'
import { unsubscribeRoutes } from './people/unsubscribe.tsx'

/** `host` is the address that the server is bound to; loopback names are accepted on loopback. */
export function createDashboard(given: Omit<DocsDependencies, 'sessions' | 'signIns'> & { host?: string }) {
  const deps: DocsDependencies = { ...given, sessions: createSessions(given), signIns: createSignIns(given) }
  return { app: dashboardRoutes(deps), refusalPage: createRefusalPage(deps) }
}

function dashboardRoutes(deps: DocsDependencies & { host?: string }) {
  const findFault = createGuard(deps)
  return (
    new Elysia()
      // the router sets invalid percent-encoding to null
      .onBeforeHandle(({ request, params }) => {
        if (Object.values<unknown>(params ?? {}).includes(null)) return problemAnswer(request, 'page_unknown')
      })
      // before the guard: mail programs post here without browser headers
      .use(unsubscribeRoutes(deps))
      .use(summaryLinkRoutes(deps))
      .use(confirmRoutes(deps))
      .onBeforeHandle(({ request }) => {
        const fault = findFault(request)
        if (!fault) return
        const address = deps.signInNotes.hashAddress(factsOf(request).address())
        deps.noteSecurity('warn', 'request refused', { reason: fault, address })
        return problemAnswer(request, fault)
      })
      .use(homeRoutes(deps))
      .use(setupRoutes(deps))
      .use(passwordRoutes(deps))
      .use(signInRoutes(deps))
      .use(signInCodeRoutes(deps))
      .use(overviewRoutes(deps))
      .use(activationRoutes(deps))
      .use(eventsRoutes(deps))
      .use(peopleRoutes(deps))
      .use(deliveriesRoutes(deps))
      .use(outboxRoutes(deps))
      .use(suppressionsRoutes(deps))
      .use(messagesRoutes(deps))
      .use(keysRoutes(deps))
      .use(requestsRoutes(deps))
      .use(secretRoutes(deps))
      .use(senderRoutes(deps))
      .use(layoutRoutes(deps))
      .use(textsRoutes(deps))
      .use(senderServerRoutes(deps))
      .use(senderOptInRoutes(deps))
      .use(senderTopicRoutes(deps))
      .use(senderDomainRoutes(deps))
      .use(senderKeysRoutes(deps))
      .use(senderRatesRoutes(deps))
      .use(senderWebhookRoutes(deps))
      .use(settingsRoutes(deps))
      .use(membersRoutes(deps))
      .use(accountNameRoutes(deps))
      .use(auditRoutes(deps))
      .use(newAppRoutes(deps))
      .use(systemRoutes(deps))
      .use(youRoutes(deps))
      .use(summaryRoutes(deps))
      .use(twoStepRoutes(deps))
      .use(themeRoutes(deps))
      .use(docsRoutes(deps))
  )
}
