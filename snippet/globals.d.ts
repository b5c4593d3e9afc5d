/** Globals that the stub and the script define. */
interface Service {
  (name?: unknown, given?: unknown): void
  /** Queued calls. Once the script has loaded, pushed calls run immediately. */
  q?: { push(...calls: Iterable<unknown>[]): unknown; splice(start: number): Iterable<unknown>[] }
  /** Site ID of the loaded script. */
  v?: string
}

declare var service: Service

interface Window {
  service?: Service
}

interface Navigator {
  readonly globalPrivacyControl?: boolean
}
