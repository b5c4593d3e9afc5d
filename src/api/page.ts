import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import type { AbuseLimits } from '../http/abuse-limits.ts'
import { readParameters } from '../http/queries.ts'
import { type FieldError, refuseApp, refuseFields } from '../core/refusals.ts'
import { factsOf } from '../http/request-facts.ts'
import { authenticate, findNamed, type Refused } from '../http/request-input.ts'

type Read<T> = (query: Record<string, string>, now: number) => { input: T } | { errors: FieldError[] }

/** Refuses with 401, 403 for the scope, 400, 404 for the app, in this order. */
export async function readPage<T extends { app: string }>(
  deps: { access: KeyAccess; abuseLimits: AbuseLimits; clock: Clock },
  request: Request,
  read: Read<T>,
  need: 'read' | 'manage' = 'read',
): Promise<{ access: Access; app: AppRow; input: T } | Refused> {
  const allowed = await authenticate(deps, request, need)
  if ('refused' in allowed) return allowed
  const query = readParameters(new URL(request.url).searchParams)
  const reading = 'errors' in query ? query : read(query.input, deps.clock.now())
  if ('errors' in reading) return { refused: refuseFields(reading.errors) }
  const found = await findNamed(deps, allowed.access, reading.input.app)
  factsOf(request).app = found?.app
  return found ? { ...found, input: reading.input } : { refused: refuseApp(reading.input.app) }
}
