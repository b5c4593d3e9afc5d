import type { Mailbox } from '../core/mail-addresses.ts'
import type { Sample, TestResult } from '../messages/mailer.ts'
import type { Clock } from '../core/clock.ts'
import type { Senders } from '../accounts/senders.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { ComposedMail } from './compose.ts'
import { noteAnswer, type NoteServer, type Outcome, type Provider, reasonOf, replyOf } from './provider.ts'
import type { Routes } from './routes.ts'
import { composeSample, renderSample, testLinks } from './samples.ts'

const TEST_MS = 20_000

const TEST_PREFIX = 'test-'

/** Of an email that belongs to no delivery. */
export const isTestId = (delivery: string): boolean => delivery.startsWith(TEST_PREFIX)

type Dependencies = {
  routes: Routes
  senders: Senders
  clock: Clock
  baseUrl: string
  noteServer: NoteServer
  templates: TemplateWorker
}

/** Its unsubscribe link does nothing. */
export async function sendTest(
  { routes, senders, clock, baseUrl, noteServer, templates }: Dependencies,
  sample: Sample,
  to: Mailbox,
): Promise<TestResult> {
  const route = routes.find(sample)
  if ('fault' in route) return { is: 'failed', reason: route.fault }
  const { provider, server, outage } = route.login
  const problem = await senders.findProblem({ ...sample, mail: sample.message.content.mail })
  if (problem) return { is: 'failed', reason: problem.code, detail: problem.message }
  const links = testLinks(baseUrl)
  const mail = await renderSample(templates, sample, links)
  if (!('html' in mail)) return mail
  const messageId = `${TEST_PREFIX}${crypto.randomUUID()}@${route.from.address.split('@')[1]}`
  const named = { ...mail, subject: `[Test] ${mail.subject}` }
  const composed = await composeSample(sample, {
    mail: named,
    route,
    url: links.url,
    at: clock.now(),
    messageId,
    to: to.address,
  })
  if (composed === null) return { is: 'failed', reason: 'dkim_key' }
  if (provider === null) return { is: 'kept', raw: composed.raw.toString('utf8') }
  const outcome = await sendSoon(provider, composed)
  if (outcome.is === 'sent') {
    outage.noteSent()
    return { is: 'sent' }
  }
  noteAnswer({ noteServer }, { about: 'test email', appId: sample.app.publicId, server, outcome })
  return { is: outcome.is === 'unknown' ? 'unknown' : 'failed', reason: reasonOf(outcome), reply: replyOf(outcome) }
}

/** Sends within the time limit or not at all: after a failure it is never handed over. */
export async function sendSoon(provider: Provider, mail: ComposedMail, withinMs = TEST_MS): Promise<Outcome> {
  let [isTimedOut, isHanded] = [false, false]
  const { promise: timedOut, resolve } = Promise.withResolvers<Outcome>()
  const timer = setTimeout(() => {
    isTimedOut = true
    resolve({ is: isHanded ? 'unknown' : 'unreachable', reason: 'etimedout' })
  }, withinMs)
  const sent = provider.send(mail, async () => (isHanded = !isTimedOut))
  return Promise.race([sent, timedOut]).finally(() => clearTimeout(timer))
}
