/** What the stub and the script put on the page. */
interface Service {
  (name?: unknown, given?: unknown): void
  /** The calls that wait, as the stub's arguments; once the script is there, what is pushed is called at once. */
  q?: { push(...calls: Iterable<unknown>[]): unknown; splice(start: number): Iterable<unknown>[] }
  /** The site of the script that is there. */
  v?: string
}

declare var service: Service

interface Window {
  service?: Service
}

interface Navigator {
  readonly globalPrivacyControl?: boolean
}
