/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeDkimKey, readDkim } from '../../accounts/dkim.ts'
import { randomBase62 } from '../../core/base62.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { saveSender } from '../../accounts/sender-settings.ts'
import { pageAnswer } from '../layout/answers.ts'
import { takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import type { Form } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { saveSettings, showSender } from './sender.tsx'

/** Slightly over 256 bits. */
const SECRET_CHARACTERS = 43

/** DKIM key and bounce webhook secret; for owners. */
export const senderKeysRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post(
      '/apps/:app/sender/dkim',
      ({ request, params: { app } }) =>
        takeForm(deps, request, askOwner(app, 'make a DKIM key'), (form, viewer) =>
          makeKey(deps, request, viewer, form),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/sender/dkim/remove',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner' }, (_, viewer) => {
          const settings = { dkimDomain: null, dkimSelector: null, dkimKey: null }
          return saveSettings(deps, request, viewer, { settings, flash: 'dkim_removed' })
        }),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/sender/reports',
      ({ request, params: { app } }) =>
        takeForm(deps, request, askOwner(app, 'make a secret for bounce reports'), (_, viewer) =>
          makeSecret(deps, request, viewer),
        ),
      { parse: 'none' },
    )

const askOwner = (appId: string, to: string) => ({
  appId,
  role: 'owner' as const,
  confirm: { to },
  page: 'sender' as const,
})

async function makeKey(deps: PageDependencies, request: Request, viewer: Viewer, form: Form): Promise<Response> {
  const dkim = { domain: form.text('dkimDomain'), selector: form.text('dkimSelector') }
  const reading = readDkim(dkim)
  if ('errors' in reading) {
    return showSender(deps, request, viewer, { status: 400, typed: { dkim, errors: reading.errors } })
  }
  const { domain: dkimDomain, selector: dkimSelector } = reading.input
  const settings = { dkimDomain, dkimSelector, dkimKey: await makeDkimKey() }
  return saveSettings(deps, request, viewer, { settings, typed: { dkim, errors: [] }, flash: 'dkim_made' })
}

async function makeSecret(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const bounceSecret = randomBase62(SECRET_CHARACTERS)
  const outcome = await saveSender(deps, viewer.app, { settings: { bounceSecret }, actor: viewer.member.id })
  if (!('refusal' in outcome)) return pageAnswer(request, 200, <SecretPage viewer={viewer} secret={bounceSecret} />)
  const { status, message } = REFUSALS[outcome.refusal]
  return showSender(deps, request, viewer, { status, notice: message })
}

const SecretPage = ({ viewer, secret }: { viewer: Viewer; secret: string }) => (
  <Frame
    viewer={viewer}
    page="sender"
    title="Your secret for reports"
    state="Reports that are signed with another are refused from now on."
  >
    <SecretOnce
      secrets={[{ id: 'report-secret', name: 'Secret for reports', text: secret }]}
      warning="It is shown now and never again. Store it where your mail provider's reports are passed on."
      next={pathOf(viewer.app.publicId, 'sender')}
    />
  </Frame>
)
