/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { rotateIdentitySecret } from '../../accounts/accounts.ts'
import { SECRETS_WARNING } from '../../docs/samples.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import type { Confirm } from './confirm.tsx'
import { showKeys } from './keys.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { ExactTime } from '../ui/time.tsx'
import { problemAnswer } from '../layout/problems.tsx'

const changeOf = (confirm: Confirm) => ({ role: 'owner', confirm }) as const

export const secretRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post('/apps/:app/keys/secret', onForm(deps, changeOf({ to: 'rotate the identity secret' }), rotate), {
      parse: 'none',
    })
    .post(
      '/apps/:app/keys/secret/revoke',
      onForm(deps, changeOf({ to: 'revoke all previous identity secrets', kind: 'danger' }), revokeOld),
      {
        parse: 'none',
      },
    )

async function rotate(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
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

async function revokeOld(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const { store, clock, access } = deps
  const change = { accountId: viewer.account.id, actor: viewer.member.id, at: clock.now() }
  const outcome = await store.revokeOldSecrets(change)
  if ('refusal' in outcome) return showKeys(deps, request, viewer, outcome.refusal)
  access.forget()
  return doneAnswer(deps, viewer, 'keys', 'secrets_revoked')
}

type RotatedProps = { viewer: Viewer; identitySecret: string; previousValidUntil: number }

const RotatedPage = ({ viewer, identitySecret, previousValidUntil }: RotatedProps) => (
  <Frame
    viewer={viewer}
    page="keys"
    title="Your new identity secret"
    state={
      <>
        The previous one keeps working until <ExactTime at={previousValidUntil} />.
      </>
    }
  >
    <SecretOnce
      secrets={[{ id: 'identity-secret', name: 'Identity secret', text: identitySecret }]}
      warning="It's shown again only when you create a key."
      next={pathOf(viewer.app.publicId, 'keys')}
    >
      <p>
        Set <code>SERVICE_IDENTITY_SECRET</code> to this secret on every server that signs emails. {SECRETS_WARNING}
      </p>
    </SecretOnce>
  </Frame>
)
