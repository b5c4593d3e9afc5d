/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createKey } from '../../accounts/accounts.ts'
import { readOldSecretUse } from '../../events/activation.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import { readKeyInput } from '../../accounts/api-keys.ts'
import { hasRole } from '../../accounts/members.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { makeToken } from '../../core/tokens.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { SHOWN_CALLS } from '../activation/calls-section.tsx'
import { refuseRole, showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { KeyMadePage, type NewKeyInput, NewKeyPage } from './key-pages.tsx'
import { KeysPage } from './keys-page.tsx'
import type { Made } from './made-key.tsx'
import { pageOf } from '../layout/paging.ts'
import { problemAnswer } from '../layout/problems.tsx'

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
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner', confirm: { to: 'make an API key' } }, (form, viewer) =>
          makeKey(deps, request, form, viewer),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/keys/revoke',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner', confirm: { to: 'revoke an API key' } }, (form, viewer) =>
          revokeKey(deps, request, form, viewer),
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
  form: Form,
): Promise<Made | { refusal: RefusalCode } | { errors: { field: string; message: string }[] }> {
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
const formOf = (form: Form, viewer: Viewer): string | null =>
  /^\w{43}$/.test(form.text('form')) ? `${viewer.member.id}:${form.text('form')}` : null

async function makeKey(deps: PageDependencies, request: Request, form: Form, viewer: Viewer): Promise<Response> {
  const made = await createKeyByForm(deps, viewer, form)
  if ('apiKey' in made) return pageAnswer(request, 200, <KeyMadePage viewer={viewer} made={made} />)
  if ('refusal' in made && made.refusal === 'already_done') return problemAnswer(request, 'done_before')
  const input = { name: form.text('name'), scope: form.text('scope') }
  const errors = 'errors' in made ? made.errors : []
  const notice = 'refusal' in made ? REFUSALS[made.refusal].message : undefined
  const status = 'refusal' in made ? REFUSALS[made.refusal].status : 400
  const page = <NewKeyPage viewer={viewer} form={form.text('form')} input={input} errors={errors} notice={notice} />
  return pageAnswer(request, status, page)
}

async function revokeKey(deps: PageDependencies, request: Request, form: Form, viewer: Viewer): Promise<Response> {
  const { store, clock, access } = deps
  const change = { accountId: viewer.account.id, actor: viewer.member.id, at: clock.now() }
  const outcome = await store.revokeKey({ ...change, keyId: form.text('key') })
  if ('refusal' in outcome) return showKeys(deps, request, viewer, outcome.refusal)
  // the next request with this key is refused
  access.forget()
  return redirectAnswer(pathOf(viewer.app.publicId, 'keys'), [flashCookie(deps.baseUrl, 'key_revoked')])
}
