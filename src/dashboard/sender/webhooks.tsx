/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  HOOK_SECRETS,
  type HookProvider,
  hookPath,
  isHookProvider,
  makeHookToken,
  readSigningSecret,
  writeHookSecret,
} from '../../accounts/hook-secrets.ts'
import { findProvider } from '../../accounts/mail-providers.ts'
import { makeMailbox } from '../../core/mail-addresses.ts'
import { makeSenderSample } from '../../mail/samples.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { doneAnswer, onForm } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { refuseTest } from '../messages/tested-emails.ts'
import { SecretOnce } from '../ui/secret.tsx'
import { readSenderFacts, saveSettings } from './sender.tsx'
import { showServer } from './server.tsx'
import { findHooked } from './webhooks-section.tsx'

const URL_CHANGE = {
  role: 'owner',
  confirm: { to: 'create a webhook URL', from: 'sender/server' },
  page: 'sender',
} as const

/** Webhooks of the email provider. */
export const senderWebhookRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post('/apps/:app/sender/webhooks/url', onForm(deps, URL_CHANGE, makeUrl), { parse: 'none' })
    .post('/apps/:app/sender/webhooks/secret', onForm(deps, { role: 'owner' }, saveSecret), { parse: 'none' })
    .post('/apps/:app/sender/webhooks/test', onForm(deps, { role: 'editor' }, testWebhook), { parse: 'none' })

/** The provider was changed meanwhile. */
const NO_WEBHOOKS = {
  status: 409,
  notice: "Eventpost can't read webhooks from this mail server. Use bounce reports instead.",
}

function readProvider(form: FormInput, kind: 'url' | 'signing'): HookProvider | null {
  const provider = form.text('provider')
  return isHookProvider(provider) && (HOOK_SECRETS[provider] === 'url') === (kind === 'url') ? provider : null
}

type Saving = { provider: HookProvider; secret: string; basedOn: string; done: () => Response }

async function save(deps: PageDependencies, request: Request, viewer: Viewer, { provider, secret, ...saving }: Saving) {
  const settings = await deps.store.mailSettings(viewer.app.id)
  return saveSettings(deps, viewer, {
    ...saving,
    form: 'webhooks',
    settings: { hookSecrets: writeHookSecret(settings, provider, secret) },
    show: ({ status, notice }) => showServer(deps, request, viewer, { status, notice }),
  })
}

async function makeUrl(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const provider = readProvider(form, 'url')
  if (provider === null) return showServer(deps, request, viewer, NO_WEBHOOKS)
  const secret = makeHookToken()
  const url = `${deps.baseUrl}${hookPath(provider, viewer.app.publicId, secret)}`
  const done = () => pageAnswer(request, 200, <UrlPage {...{ viewer, provider, url }} />)
  return save(deps, request, viewer, { provider, secret, basedOn: form.text('basedOn'), done })
}

async function saveSecret(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const provider = readProvider(form, 'signing')
  if (provider === null) return showServer(deps, request, viewer, NO_WEBHOOKS)
  const reading = readSigningSecret(provider, form.text('hookSecret'))
  if ('errors' in reading)
    return showServer(deps, request, viewer, { status: 400, webhooks: { errors: reading.errors, test: null } })
  const { secret } = reading
  const flash = provider === 'ses' ? 'webhook_topic_saved' : 'webhook_secret_saved'
  const done = () => doneAnswer(deps, viewer, 'sender/server', flash)
  return save(deps, request, viewer, { provider, secret, basedOn: form.text('basedOn'), done })
}

/** To the provider's simulator, whose bounce comes back by webhook; without one, to the member. */
async function testWebhook(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const provider = findHooked(await readSenderFacts(deps, viewer))
  const to = provider && makeMailbox('', provider.hooks.simulator ?? viewer.member.email)
  if (!to) return showServer(deps, request, viewer, NO_WEBHOOKS)
  const notice = await refuseTest(deps, viewer)
  if (notice !== null) return showServer(deps, request, viewer, { status: 429, notice })
  const { store, clock, mailer } = deps
  const at = clock.now()
  const test = await mailer.sendTest(makeSenderSample(viewer.app, await store.mailSettings(viewer.app.id)), to)
  if ('is' in test && test.is === 'sent')
    await store.noteTestSent({ appId: viewer.app.id, provider: provider.hooks.name, at })
  return showServer(deps, request, viewer, { webhooks: { test } })
}

type UrlProps = { viewer: Viewer; provider: HookProvider; url: string }

function UrlPage({ viewer, provider, url }: UrlProps) {
  const found = findProvider(provider)
  return (
    <Frame viewer={viewer} page="sender" title="Your webhook URL" state={found?.hooks?.hint}>
      <SecretOnce
        secrets={[{ id: 'webhook-url', name: 'Webhook URL', text: url }]}
        warning={`Shown only once. Paste it into ${found?.name} now. Anyone who has it can report your emails as bounced.`}
        next={pathOf(viewer.app.publicId, 'sender/server')}
        confirmLabel="I have pasted it"
      />
    </Frame>
  )
}
