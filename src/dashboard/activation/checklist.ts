import type { KeyRow } from '../../accounts/accounts.ts'
import { type Activation, readActivation } from '../../events/activation.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { messagePath } from '../messages/messages-page.tsx'
import { pathOf } from '../layout/frame.tsx'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'

/** `messages`: in the order in which they were made. `hasServer`: emails are sent, not captured. */
export type SetupFacts = {
  appId: string
  activation: Activation
  /** last use of an active key (ms UTC) */
  keyUsedAt: number | null
  messages: MessageRow[]
  hasSentEmail: boolean
  hasServer: boolean
}

/** `at`: when it last happened (ms UTC), if known. `text`: what is missing; `link` leads there. */
export type SetupStep = {
  name: string
  isDone: boolean
  at: number | null
  text: string
  link: { label: string; href: string }
}

/** From the first event to the first email, in this order. */
export function listSteps(facts: SetupFacts): SetupStep[] {
  return [eventStep(facts), scriptStep(facts), signatureStep(facts), messageStep(facts), emailStep(facts)]
}

export const nextStep = (steps: readonly SetupStep[]): SetupStep | null => steps.find(({ isDone }) => !isDone) ?? null

const onActivation = (appId: string, part: string): string => `${pathOf(appId, 'activation')}#${part}`

function eventStep({ activation, keyUsedAt, appId }: SetupFacts): SetupStep {
  const at = activation.lastNamedAt
  return {
    name: 'First event',
    isDone: at !== null,
    at,
    text:
      keyUsedAt === null
        ? 'Send one from your server.'
        : 'Your server has sent requests, but no event has been recorded yet.',
    link: { label: 'Show the code', href: onActivation(appId, 'code') },
  }
}

function scriptStep({ activation: { scriptLoaded, lastViewAt }, appId }: SetupFacts): SetupStep {
  const at = scriptLoaded?.lastAt ?? lastViewAt
  return {
    name: 'Browser script',
    isDone: at !== null,
    at,
    text: 'Add the script tag to your pages, so nobody is emailed about a page they have open.',
    link: { label: 'Show the script tag', href: onActivation(appId, 'tag') },
  }
}

function signatureStep({ activation, appId }: SetupFacts): SetupStep {
  const { lastViewAt, lastIdentified, failedSignature } = activation
  const at = latest(lastViewAt, lastIdentified?.lastAt ?? null)
  return {
    name: 'Signed-in people',
    isDone: at !== null,
    at,
    text: failedSignature
      ? 'A signature was wrong. Check how your server signs the email.'
      : 'Call identify with the email and its signature after sign-in.',
    link: { label: 'Check a signature', href: onActivation(appId, 'check') },
  }
}

const latest = (a: number | null, b: number | null): number | null => (a === null || (b !== null && b > a) ? b : a)

function messageStep({ messages, hasSentEmail, appId }: SetupFacts): SetupStep {
  const draft = messages.find(({ status }) => status !== 'live')
  return {
    name: 'Live message',
    isDone: hasSentEmail || messages.some(({ status }) => status === 'live'),
    at: null,
    text: draft ? `Go live with “${draft.name}”, or write your own.` : 'Write one and go live.',
    link: draft
      ? { label: 'Open the message', href: messagePath(appId, draft.id) }
      : { label: 'New message', href: `${pathOf(appId, 'messages')}/new` },
  }
}

const emailStep = ({ hasSentEmail, hasServer, appId }: SetupFacts): SetupStep => ({
  name: 'First email sent',
  isDone: hasSentEmail,
  at: null,
  text: hasServer ? 'Sent when someone triggers a live message.' : 'Emails are captured until a mail server is set up.',
  link: hasServer
    ? { label: 'Show deliveries', href: pathOf(appId, 'deliveries') }
    : { label: 'Set up a mail server', href: pathOf(appId, 'sender/server') },
})

export async function readSetup(deps: PageDependencies, { account, app }: Viewer): Promise<SetupFacts> {
  const [activation, keys, messages, hasSentEmail, settings] = await Promise.all([
    readActivation(deps, app),
    deps.store.listKeys(account.id),
    deps.store.listMessages(app.id),
    deps.store.hasSentEmail(app.id),
    deps.store.mailSettings(app.id),
  ])
  return {
    appId: app.publicId,
    activation,
    keyUsedAt: lastUse(keys.filter(({ revokedAt }) => revokedAt === null).map(deps.access.withUse)),
    messages,
    hasSentEmail,
    hasServer: deps.mailer.findMailRoute({ settings, app }).server !== null,
  }
}

const lastUse = (keys: KeyRow[]): number | null =>
  keys.reduce<number | null>((last, { lastUsedAt }) => latest(last, lastUsedAt), null)
