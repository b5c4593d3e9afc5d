/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { rotateIdentitySecret } from '../../accounts/accounts.ts'
import { SECRETS_WARNING } from '../../docs/samples.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { showKeys } from './keys.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { ExactTime } from '../ui/time.tsx'
import { problemAnswer } from '../layout/problems.tsx'

export const secretRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post(
      '/apps/:app/keys/secret',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, role: 'owner', confirm: { to: 'rotate the identity secret' } },
          (form, viewer) => rotate(deps, request, form, viewer),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/keys/secret/revoke',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, role: 'owner', confirm: { to: 'revoke every previous identity secret' } },
          (_, viewer) => revokeOld(deps, request, viewer),
        ),
      { parse: 'none' },
    )

async function rotate(deps: PageDependencies, request: Request, form: Form, viewer: Viewer): Promise<Response> {
  const { store, clock, access } = deps
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const made = await rotateIdentitySecret(maker, viewer.account.id, form.text('replaces'))
  if ('refusal' in made) {
    return made.refusal === 'already_done'
      ? problemAnswer(request, 'done_before')
      : showKeys(deps, request, viewer, made.refusal)
  }
  access.forget()
  return pageAnswer(request, 200, <RotatedPage viewer={viewer} {...made} />)
}

async function revokeOld(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { store, clock, access } = deps
  const change = { accountId: viewer.account.id, actor: viewer.member.id, at: clock.now() }
  const outcome = await store.revokeOldSecrets(change)
  if ('refusal' in outcome) return showKeys(deps, request, viewer, outcome.refusal)
  access.forget()
  return redirectAnswer(pathOf(viewer.app.publicId, 'keys'), [flashCookie(deps.baseUrl, 'secrets_revoked')])
}

type RotatedProps = { viewer: Viewer; identitySecret: string; previousValidUntil: number }

const RotatedPage = ({ viewer, identitySecret, previousValidUntil }: RotatedProps) => (
  <Frame
    viewer={viewer}
    page="keys"
    title="Your new identity secret"
    state={
      <>
        The one it replaces keeps working until <ExactTime at={previousValidUntil} />.
      </>
    }
  >
    <SecretOnce
      secrets={[{ id: 'identity-secret', name: 'Identity secret', text: identitySecret }]}
      warning="It is shown here, and again only when you make a key."
      next={pathOf(viewer.app.publicId, 'keys')}
    >
      <p>
        Put it into <code>SERVICE_IDENTITY_SECRET</code> on every server that signs. {SECRETS_WARNING}
      </p>
    </SecretOnce>
  </Frame>
)
