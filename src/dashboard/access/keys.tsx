/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createKey } from '../../accounts/accounts.ts'
import { readOldSecretUse } from '../../events/activation.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import { readKeyInput } from '../../accounts/api-keys.ts'
import { hasRole } from '../../accounts/members.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { makeToken } from '../../accounts/tokens.ts'
import { pageAnswer } from '../layout/answers.ts'
import { SHOWN_CALLS } from '../activation/calls-section.tsx'
import { doneAnswer, onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Confirm } from './confirm.tsx'
import { KeyMadePage, type Made, type NewKeyInput, NewKeyPage } from './key-pages.tsx'
import { KeysPage } from './keys-page.tsx'
import type { FormError } from '../ui/field.tsx'
import { pageOf } from '../layout/paging.ts'
import { keyCreatedAnswer } from '../layout/problems.tsx'

export const keysRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/keys', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showKeys(deps, request, viewer)),
    )
    .get('/apps/:app/keys/new', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, request, viewer)
        return pageAnswer(request, 200, <NewKeyPage viewer={viewer} form={makeToken()} input={EMPTY} />)
      }),
    )
    .post(
      '/apps/:app/keys',
      onForm(deps, { role: 'owner', confirm: { to: 'create an API key', from: 'keys/new' }, check: checkKey }, makeKey),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/keys/revoke',
      onForm(
        deps,
        { role: 'owner', confirm: { to: 'revoke an API key', kind: 'danger', find: findRevoked } },
        revokeKey,
      ),
      { parse: 'none' },
    )

const EMPTY: NewKeyInput = { name: '', scope: 'standard' }

export async function showKeys(deps: PageDependencies, request: Request, viewer: Viewer, refusal?: RefusalCode) {
  const { store, clock, access } = deps
  const now = clock.now()
  const keys = (await store.listKeys(viewer.account.id)).map(access.withUse)
  const secrets = await store.listSecrets(viewer.account.id, now - PREVIOUS_SECRET_VALID_MS)
  const oldSecretUse = await readOldSecretUse(deps, await store.listApps(viewer.account.id))
  const workingFirst = keys.toSorted((a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null))
  const shown = pageOf(workingFirst, pathOf(viewer.app.publicId, 'keys'), request)
  const calls = await store.listCalls(viewer.account.id, SHOWN_CALLS)
  const page = <KeysPage {...{ viewer, keys, shown, secrets, oldSecretUse, calls, now, refusal }} />
  return pageAnswer(request, refusal ? REFUSALS[refusal].status : 200, page)
}

/** Creates the key; null means that the form has errors. */
export async function createKeyByForm(
  { store, clock, access }: Pick<PageDependencies, 'store' | 'clock' | 'access'>,
  viewer: Viewer,
  form: FormInput,
): Promise<Made | { refusal: RefusalCode } | { errors: FormError[] }> {
  const reading = readKeyInput({ name: form.text('name'), scope: form.text('scope') })
  if ('errors' in reading) return reading
  const now = clock.now()
  const maker = { store, now, actor: viewer.member.id }
  const made = await createKey(maker, viewer.account.id, { ...reading, form: formOf(form, viewer) })
  if ('refusal' in made) return made
  access.forget()
  const [secret] = await store.listSecrets(viewer.account.id, now)
  return { apiKey: made.apiKey, identitySecret: secret?.secret ?? '' }
}

/** Scoped to the member, so that another member's form never matches. */
const formOf = (form: FormInput, viewer: Viewer): string | null =>
  /^\w{43}$/.test(form.text('form')) ? `${viewer.member.id}:${form.text('form')}` : null

async function makeKey(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const made = await createKeyByForm(deps, viewer, form)
  if ('apiKey' in made) return pageAnswer(request, 200, <KeyMadePage viewer={viewer} made={made} />)
  if ('refusal' in made && made.refusal === 'already_done')
    return keyCreatedAnswer(request, pathOf(viewer.app.publicId, 'keys'))
  return 'errors' in made
    ? refuseKey(request, form, viewer, { status: 400, errors: made.errors })
    : refuseKey(request, form, viewer, REFUSALS[made.refusal])
}

function checkKey(request: Request, form: FormInput, viewer: Viewer): Response | null {
  const reading = readKeyInput({ name: form.text('name'), scope: form.text('scope') })
  return 'errors' in reading ? refuseKey(request, form, viewer, { status: 400, errors: reading.errors }) : null
}

type Refused = { status: number; message?: string; errors?: FormError[] }

function refuseKey(request: Request, form: FormInput, viewer: Viewer, { status, message, errors }: Refused): Response {
  const input = { name: form.text('name'), scope: form.text('scope') }
  const page = { viewer, form: form.text('form'), input, errors, notice: message }
  return pageAnswer(request, status, <NewKeyPage {...page} />)
}

const findRevoked: Confirm['find'] = async ({ store }, { viewer, form }) => {
  const key = (await store.listKeys(viewer.account.id)).find(({ id }) => id === form.text('key'))
  return key ? { to: `revoke the API key “${key.name}”` } : null
}

async function revokeKey(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const { store, clock, access } = deps
  const change = { accountId: viewer.account.id, actor: viewer.member.id, at: clock.now() }
  const outcome = await store.revokeKey({ ...change, keyId: form.text('key') })
  if ('refusal' in outcome) return showKeys(deps, request, viewer, outcome.refusal)
  // the next request with this key is refused
  access.forget()
  return doneAnswer(deps, viewer, 'keys', 'key_revoked')
}
