import { MINUTE_MS } from '../../core/clock.ts'
import type { AppRow } from '../../accounts/access.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import type { readMail } from './message-form.ts'

type TypedMail = ReturnType<typeof readMail>

/** Of one member, only to members' own addresses. */
const TESTS = { max: 20, windowMs: MINUTE_MS }

/** Why no further test email can be sent now; null if one can. */
export async function refuseTest(
  { limits }: Pick<PageDependencies, 'limits'>,
  { member }: Viewer,
): Promise<string | null> {
  const { allowed, retryAfterSeconds } = await limits.takeAlone(`test:${member.id}`, TESTS)
  if (allowed > 0) return null
  const wait = retryAfterSeconds === 1 ? 'a second' : `${retryAfterSeconds} seconds`
  return `You can send ${TESTS.max} tests a minute. Try again in ${wait}.`
}

/** Emails that were tested since the start. The oldest are forgotten. */
const KEPT = 500

export type TestedEmails = ReturnType<typeof createTestedEmails>

/** The domains decide which links an email has. */
type TestedApp = Pick<AppRow, 'id' | 'hosts'>

/** `isCaptured`: there was no mail server, so nothing was sent. */
export type TestedEmail = { to: string; isCaptured: boolean }

/** Remembers which texts were sent as a test, and to whom. */
export function createTestedEmails() {
  const tested = new Map<string, TestedEmail>()
  const keyOf = ({ id, hosts }: TestedApp, mail: TypedMail): string =>
    `${id} ${Bun.hash(JSON.stringify([mail, hosts]))}`
  return {
    note(app: TestedApp, mail: TypedMail, test: TestedEmail): void {
      const key = keyOf(app, mail)
      tested.delete(key)
      tested.set(key, test)
      const [oldest] = tested.keys()
      if (tested.size > KEPT && oldest !== undefined) tested.delete(oldest)
    },
    /** The last test of this text; null if there was none. */
    find: (app: TestedApp, mail: TypedMail): TestedEmail | null => tested.get(keyOf(app, mail)) ?? null,
  }
}
