import type { Limit, Limits } from '../accounts/limits.ts'
import type { Mailer, ServerCheck } from '../messages/mailer.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../accounts/access.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

/** Per account: enough to set up a server, too few for a port scan. */
export const SERVER_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

/** null when no server is set. Refusals: rate_limited. */
export async function checkMailServer(
  { store, mailer, limits }: { store: Store; mailer: Mailer; limits: Limits },
  app: AppRow,
): Promise<ServerCheck | Refusal | null> {
  const { allowed, retryAfterSeconds } = limits.take(`server-check:${app.accountId}`, SERVER_CHECKS)
  return allowed > 0 ? mailer.checkServer(app, await store.mailSettings(app.id)) : refuseChecks(retryAfterSeconds)
}

function refuseChecks(retryAfterSeconds: number): Refusal {
  const minutes = Math.ceil(retryAfterSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const message = `Mail servers were checked ${SERVER_CHECKS.max} times within ten minutes. Wait ${wait}, then check again.`
  return refuse('rate_limited', { message })
}
