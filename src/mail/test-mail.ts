/** The mail that a member sends to themselves to see it where it will be read. */
import type { Mailbox } from '../core/mail-addresses.ts'
import type { Sample, TestResult } from '../core/mailer.ts'
import type { Clock } from '../core/parts.ts'
import { TEST_TOKEN } from '../core/unsubscribe.ts'
import { reasonOf } from './provider.ts'
import type { Routes } from './routes.ts'
import { composeSample, renderSample } from './samples.ts'

type TestParts = { routes: Routes; clock: Clock; baseUrl: string }

/** Its link to unsubscribe leads nowhere: nobody shall end another's mail by looking at a test. */
export async function sendTest(
  { routes, clock, baseUrl }: TestParts,
  sample: Sample,
  to: Mailbox,
): Promise<TestResult> {
  const route = routes.find(sample)
  if ('fault' in route) return { is: 'failed', reason: route.fault }
  const url = `${baseUrl}/u/${TEST_TOKEN}`
  const mail = renderSample(sample, url)
  if (!('html' in mail)) return mail
  const messageId = `test-${crypto.randomUUID()}@${route.from.address.split('@')[1]}`
  const named = { ...mail, subject: `[Test] ${mail.subject}` }
  const composed = await composeSample(sample, { mail: named, route, url, at: clock.now(), messageId, to: to.address })
  if (composed === null) return { is: 'failed', reason: 'dkim_key' }
  if (route.provider === null) return { is: 'kept', raw: composed.raw.toString('utf8') }
  const outcome = await route.provider.send(composed, async () => true)
  if (outcome.is === 'sent') return { is: 'sent' }
  const said = outcome.is === 'refused' ? outcome.said : undefined
  return { is: outcome.is === 'unknown' ? 'unknown' : 'failed', reason: reasonOf(outcome), said }
}
