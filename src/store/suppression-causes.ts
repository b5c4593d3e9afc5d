import type { Dialect } from './engine/sql.ts'

/** How an email failed, as reported. */
export type Failure = 'bounced' | 'softBounced' | 'blocked' | 'complained'

/**
 * Why an address is suppressed, a person's status changed, or an email to them bounced. JSON in `suppressions` and in
 * `contact_changes`.
 */
export type Cause =
  /** `provider` null: the customer's own server reported it. `text`: the mail server's or provider's own words */
  | { by: 'report'; kind: Failure; provider: string | null; delivery?: string; text?: string }
  /** so many soft bounces in so many days */
  | { by: 'softBounces'; count: number; days: number }
  /** the mail server refused an email; `text`: its codes */
  | { by: 'refusal'; delivery: string; text?: string }
  /** it is on the provider's own list; `text`: the provider's words for the reason */
  | { by: 'list'; provider: string | null; text?: string }
  | { by: 'member'; actor: string; text: string }
  /** the person, by the link in an email or the button of their mail program */
  | { by: 'link' }
  /** people were imported with this status */
  | { by: 'import' }

/** Without what may name an erased person. */
export const forgetCause = ({ jsonWithout }: Dialect): string => jsonWithout(jsonWithout('cause', 'delivery'), 'text')
