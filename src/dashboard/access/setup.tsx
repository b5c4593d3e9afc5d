/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type CreatedAccount, createAccount } from '../../accounts/accounts.ts'
import { readAccountInput } from '../../accounts/account-input.ts'
import { hasSetupLink } from '../../accounts/members.ts'
import { findPasswordFault, hashPassword } from '../../accounts/passwords.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { showActivation } from '../activation/activation.tsx'
import { pageAnswer } from '../layout/answers.ts'
import { findViewer, type PageDependencies } from '../layout/viewer.ts'
import { type FormInput, readForm } from '../layout/forms.ts'
import { closeLink, openLink } from './one-time-link.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { startSession } from './session-start.ts'
import { EMPTY_SETUP, type SetupInput, SetupPage } from './setup-page.tsx'

/** Creates the first account by the printed link. Opening it doesn't use it up. */
export const setupRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/setup', async ({ request }) => {
      const link = openLink(request, deps.baseUrl)
      if ('redirect' in link) return link.redirect
      const { token } = link
      if (!(await isValid(deps, token))) return refuseLink(deps, request)
      return pageAnswer(request, 200, <SetupPage token={token} input={EMPTY_SETUP} />)
    })
    .post(
      '/setup',
      async ({ request }) => {
        const form = await readForm(request)
        if ('refusal' in form) return problemAnswer(request, form.refusal)
        // check the link first, so that only its holder can cause password hashing
        if (!(await isValid(deps, form.text('token')))) return refuseLink(deps, request)
        return closeLink(await setUp(deps, request, form), deps.baseUrl)
      },
      { parse: 'none' },
    )

const isValid = ({ store, clock }: Pick<PageDependencies, 'store' | 'clock'>, token: string): Promise<boolean> =>
  hasSetupLink({ store, now: clock.now() }, token)

const refuseLink = async ({ store }: Pick<PageDependencies, 'store'>, request: Request): Promise<Response> =>
  problemAnswer(request, (await store.isSetUp()) ? 'link_used' : 'setup_link_unknown')

async function setUp(deps: PageDependencies, request: Request, form: FormInput): Promise<Response> {
  const token = form.text('token')
  const input = { email: form.text('email'), app: form.text('app'), domain: form.text('domain') }
  const reading = readSetup(input, form.text('password'))
  if ('errors' in reading)
    return pageAnswer(request, 400, <SetupPage token={token} input={input} errors={reading.errors} />)
  const { store, clock } = deps
  const passwordHash = await hashPassword(form.text('password'))
  const begun = await createAccount(
    { store, now: clock.now(), actor: 'setup' },
    { ...reading.input, passwordHash },
    { onlyFirst: true, setupToken: token },
  )
  if ('refusal' in begun) return refuseSetup(deps, request, begun.refusal, { token, input })
  deps.access.forget()
  return showBegun(deps, request, begun, reading.input.email)
}

function readSetup(input: SetupInput, password: string) {
  const domains = input.domain.trim() === '' ? [] : [input.domain]
  const reading = readAccountInput({ email: input.email, appName: input.app, domains, home: null })
  const fault = findPasswordFault(password, { email: input.email, names: [input.app] })
  if (!fault) return reading
  const error: FieldError = { field: 'password', code: 'invalid', message: fault }
  return { errors: 'errors' in reading ? [...reading.errors, error] : [error] }
}

/** The setup may be done already or the disk full; keeps the input if it can be resubmitted. */
function refuseSetup(
  deps: PageDependencies,
  request: Request,
  refusal: keyof typeof REFUSALS,
  page: { token: string; input: SetupInput },
) {
  if (refusal === 'already_set_up' || refusal === 'not_found') return refuseLink(deps, request)
  const { status, message } = REFUSALS[refusal]
  return pageAnswer(request, status, <SetupPage {...page} notice={message} />)
}

/** Signs the owner in; Activation shows the first key. */
async function showBegun(
  deps: PageDependencies,
  request: Request,
  { appId, apiKey, identitySecret }: CreatedAccount,
  email: string,
) {
  const member = await deps.store.findMember(email)
  const started = member?.passwordHash
    ? await startSession(deps, request, { member, passwordHash: member.passwordHash })
    : null
  const viewer = member && (await findViewer(deps, member, appId, ['set_up']))
  // another process removed the account
  if (!viewer) return problemAnswer(request, 'link_used')
  return showActivation(deps, request, viewer, { made: { apiKey, identitySecret }, cookies: started?.cookies })
}
