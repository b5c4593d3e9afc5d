/** What the running server stores about itself, for commands, which don't have its settings. */
import { isPublicAddress } from '../core/public-addresses.ts'
import { isIP } from 'node:net'
import { SERVER_FACTS } from '../store/install.ts'
import type { Store } from '../store/store.ts'

/** Without secrets. `mailServer`: of the installation; null: none. `startedAt`: ms UTC. */
export type ServerFacts = {
  version: string
  startedAt: number
  baseUrl: string
  trustedProxies: readonly string[]
  mailServer: { name: string; host: string; isApi: boolean } | null
  /** private mail servers that apps can use */
  mailPrivateHosts: readonly string[]
  /** alerts can go by another way than the mail server */
  hasSecondRoute: boolean
  backupEveryMs: number | null
  /** of scheduled backups; null: there are none, or they go to a bucket */
  backupFolder: string | null
}

const PROXY = 'untrusted_proxy'

type InstallStore = Pick<Store, 'installValue' | 'setInstallValue'>

/** At the start: what an earlier server saw of proxies no longer counts. */
export async function keepServerFacts(store: InstallStore, facts: ServerFacts): Promise<void> {
  await store.setInstallValue({ name: SERVER_FACTS, value: JSON.stringify(facts) })
  if ((await store.installValue(PROXY)) !== null) await store.setInstallValue({ name: PROXY, value: '' })
}

/** Of the server that runs, or ran last. */
export async function readServerFacts(store: InstallStore): Promise<ServerFacts | null> {
  const value = await store.installValue(SERVER_FACTS)
  return value === null ? null : (JSON.parse(value) as ServerFacts)
}

/** Anyone can send the header, so only a sender in the own network counts as a proxy. */
export async function noteUntrustedProxy(store: InstallStore, address: string): Promise<void> {
  if (isIP(address) === 0 || isPublicAddress(address)) return
  await store.setInstallValue({ name: PROXY, value: address })
}

export const readUntrustedProxy = async (store: InstallStore): Promise<string | null> =>
  (await store.installValue(PROXY)) || null
