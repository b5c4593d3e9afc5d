import type { Clock } from '../core/clock.ts'
import type { AppRow, KeyAccess } from '../accounts/access.ts'
import type { Store } from '../store/store.ts'
import type { Refused, SnippetSettings } from '../store/types.ts'
import { readTypedHost } from '../accounts/app-hosts.ts'
import { type Refusal, refuseFields } from '../core/refusals.ts'

export type { SnippetSettings }

/** Refusals: invalid_field, naming `hosts`. */
export function readSnippetHosts(typed: string[]): { hosts: string[] } | Refusal {
  const hosts = typed.map((host) => readTypedHost(host))
  const known = hosts.filter((host) => host !== null)
  if (known.length === hosts.length) return { hosts: [...new Set(known)] }
  return refuseFields([{ field: 'hosts', code: 'invalid', message: HOST_MESSAGE }])
}

const HOST_MESSAGE = 'Give hosts of your own, such as app.example.com.'

/**
 * `hosts`: pages that may report (none = any); also whether reports add unknown people. Refusals: invalid_field,
 * app_not_found, unavailable.
 */
export async function saveSnippetSettings(
  { store, clock, access }: { store: Store; clock: Clock; access: KeyAccess },
  app: AppRow,
  { hosts: typed, addsPeople, actor }: SnippetSettings & { actor: string },
): Promise<{ done: true } | Refused | Refusal> {
  const reading = readSnippetHosts(typed)
  if ('refusal' in reading) return reading
  const { accountId, id: appId } = app
  const settings = { hosts: reading.hosts, addsPeople }
  const outcome = await store.setSnippet({ accountId, actor, at: clock.now(), appId, settings })
  access.forget()
  return outcome
}
