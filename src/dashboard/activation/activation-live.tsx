/** @jsxImportSource preact */
import type { VNode } from 'preact'
import { render } from 'preact-render-to-string'
import { readActivation } from '../../events/activation.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import { State, type StatusProps, Steps } from './activation-status.tsx'
import type { PageParts, Viewer } from '../layout/viewer.ts'
import { Zone } from '../ui/time.tsx'
import { type Send, streamChanges } from '../layout/stream.ts'
import { Trouble } from './trouble.tsx'

export type Status = StatusProps & { hasOldSecret: boolean; addsPeople: boolean }

/** What is on the page and changes while it is open. */
export async function readStatus(parts: PageParts, { account, app }: Viewer): Promise<Status> {
  const { store, clock, access } = parts
  const now = clock.now()
  const [activation, keys, secrets, settings] = await Promise.all([
    readActivation(parts, app),
    store.listKeys(account.id),
    store.listSecrets(account.id, now - PREVIOUS_SECRET_VALID_MS),
    store.snippetSettings(app.id),
  ])
  return {
    activation,
    keys: keys.filter(({ revokedAt }) => revokedAt === null).map(access.withUse),
    addsPeople: settings.addsPeople,
    hasOldSecret: secrets.some(({ retiredAt }) => retiredAt !== null),
    now,
  }
}

/** Sends the parts that carry `data-live`, as the page itself would show them, after each change. */
export function streamStatus(parts: PageParts, request: Request, viewer: Viewer): Response {
  let sent = ''
  const look = async (send: Send): Promise<void> => {
    const status = await readStatus(parts, viewer)
    const show = (part: VNode): string => render(<Zone.Provider value={viewer.app.timezone}>{part}</Zone.Provider>)
    const data = {
      state: show(<State {...status} appId={viewer.app.publicId} />),
      steps: show(<Steps {...status} />),
      trouble: show(<Trouble {...status} appId={viewer.app.publicId} />),
    }
    const text = JSON.stringify(data)
    if (text !== sent) send({ name: 'parts', data })
    sent = text
  }
  return streamChanges(parts, request, viewer, look)
}
