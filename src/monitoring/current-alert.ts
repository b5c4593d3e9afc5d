import type { OpenAlert } from '../store/alerts.ts'
import type { Store } from '../store/store.ts'
import type { AlertKind } from './alerts.ts'
import type { Monitor } from './monitor.ts'

type Dependencies = { store: Pick<Store, 'findOpenAlert'>; monitor: Pick<Monitor, 'seemsOver'> }

/** The open alert about a problem, unless the problem seems to be over. */
export async function findCurrentAlert(
  { store, monitor }: Dependencies,
  kind: AlertKind,
  subject: string,
): Promise<OpenAlert | null> {
  const alert = await store.findOpenAlert(kind, subject)
  return alert !== null && monitor.seemsOver(alert.id) === true ? null : alert
}
