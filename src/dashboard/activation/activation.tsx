/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { readScript, readStub } from '../../assets.ts'
import { siteOrigin } from '../../accounts/app-settings.ts'
import { serverSamples } from '../../docs/samples.ts'
import { DAY_MS, expiryNow } from '../../core/clock.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { checkSignature } from '../../visits/signature-check.ts'
import { makeToken } from '../../accounts/tokens.ts'
import { ActivationPage } from './activation-page.tsx'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, openStream, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { createKeyByForm } from '../access/keys.tsx'
import type { Made } from '../access/key-pages.tsx'
import { pathOf } from '../layout/frame.tsx'
import { keyCreatedAnswer } from '../layout/problems.tsx'
import type { Checked } from './signature-section.tsx'
import type { VNode } from 'preact'
import { render } from 'preact-render-to-string'
import { listShownAccounts } from '../../accounts/accounts.ts'
import type { Refusals } from '../../store/requests.ts'
import { type Activation, sendTestEvent } from '../../events/activation.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import type { KeyRow } from '../../accounts/accounts.ts'
import { State, Steps } from './activation-status.tsx'
import { listSteps, readSetup, type SetupStep } from './checklist.ts'
import { Zone } from '../ui/time.tsx'
import { type Send, streamChanges } from '../layout/stream.ts'
import { Trouble } from './trouble.tsx'

export const activationRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/activation', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showActivation(deps, request, viewer)),
    )
    .get('/apps/:app/activation/live', ({ request, params: { app } }) =>
      openStream(deps, request, app, (viewer) => streamStatus(deps, request, viewer)),
    )
    .post(
      '/apps/:app/activation/key',
      onForm(deps, { role: 'owner', confirm: { to: 'create an API key' }, page: 'activation' }, makeKey),
      { parse: 'none' },
    )
    .post('/apps/:app/activation/test', onForm(deps, { role: 'editor' }, sendTest), { parse: 'none' })
    .post('/apps/:app/activation/signature', onForm(deps, { role: 'viewer' }, checkPasted), { parse: 'none' })

async function makeKey(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const made = await createKeyByForm(deps, viewer, form)
  if ('apiKey' in made) return showActivation(deps, request, viewer, { made })
  if ('errors' in made) return showActivation(deps, request, viewer, { refusal: 'invalid_field' })
  if (made.refusal === 'already_done') return keyCreatedAnswer(request, pathOf(viewer.app.publicId, 'keys'))
  return showActivation(deps, request, viewer, { refusal: made.refusal })
}

async function sendTest(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const outcome = await sendTestEvent(deps, viewer.app, viewer.member)
  if ('refusal' in outcome) return showActivation(deps, request, viewer, { refusal: outcome.refusal })
  return doneAnswer(deps, viewer, 'activation', 'test_sent')
}

async function checkPasted(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  // includes inactive keys, so that they are recognized
  const secrets = await deps.store.listSecrets(viewer.account.id, 0)
  const pasted = { email: form.text('email'), signature: form.text('signature').trim() }
  const verdict = checkSignature({ ...pasted, secrets, now: expiryNow(deps.clock) })
  return showActivation(deps, request, viewer, { checked: { ...pasted, verdict } })
}

let built: { stub: string; script: Uint8Array } | null = null

/** The built script doesn't change at run time. */
const readBuilt = () => (built ??= { stub: readStub(), script: readScript().identity })

type Shown = { made?: Made; checked?: Checked; refusal?: RefusalCode; cookies?: string[] }

export async function showActivation(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { refusal, cookies, ...shown }: Shown = {},
): Promise<Response> {
  const { baseUrl } = deps
  const page = (
    <ActivationPage
      viewer={viewer}
      {...await readStatus(deps, viewer)}
      code={serverSamples({ baseUrl, appId: viewer.app.publicId, homeUrl: siteOrigin(viewer.app) })}
      snippet={{ baseUrl, siteId: viewer.app.siteId, ...readBuilt() }}
      form={makeToken()}
      refusal={refusal}
      {...shown}
    />
  )
  return pageAnswer(request, refusal ? REFUSALS[refusal].status : 200, page, cookies)
}

type Status = {
  activation: Activation
  steps: SetupStep[]
  hasServerCalled: boolean
  keys: KeyRow[]
  hasOldSecret: boolean
  addsPeople: boolean
  refused: Refusals
  now: number
}

/** How long a refusal is shown, if the log still has it. */
const RECENT_MS = 7 * DAY_MS

async function readStatus(deps: PageDependencies, viewer: Viewer): Promise<Status> {
  const { account, app } = viewer
  const { store, clock, access } = deps
  const now = clock.now()
  const since = now - RECENT_MS
  const accountIds = await listShownAccounts(store, account.id)
  const [setup, refused, keys, secrets, settings] = await Promise.all([
    readSetup(deps, viewer),
    store.summarizeRefusals({ accountIds, appId: app.id, since }),
    store.listKeys(account.id),
    store.listSecrets(account.id, now - PREVIOUS_SECRET_VALID_MS),
    store.snippetSettings(app.id),
  ])
  return {
    activation: setup.activation,
    steps: listSteps(setup),
    hasServerCalled: setup.keyUsedAt !== null,
    refused,
    keys: keys.filter(({ revokedAt }) => revokedAt === null).map(access.withUse),
    addsPeople: settings.addsPeople,
    hasOldSecret: secrets.some(({ retiredAt }) => retiredAt !== null),
    now,
  }
}

/** Streams the elements with `data-live`, rendered as on the page, after each change. */
function streamStatus(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  let sent = ''
  const sendChanges = async (send: Send): Promise<void> => {
    const status = await readStatus(deps, viewer)
    const show = (part: VNode): string => render(<Zone.Provider value={viewer.app.timezone}>{part}</Zone.Provider>)
    const data = {
      state: show(<State {...status} appId={viewer.app.publicId} />),
      steps: show(<Steps {...status} />),
      trouble: show(<Trouble {...status} appId={viewer.app.publicId} />),
    }
    const text = JSON.stringify(data)
    if (text !== sent) send({ name: 'parts', data })
    sent = text
  }
  return streamChanges(deps, request, viewer, sendChanges)
}
