/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeDkimKey, readDkim } from '../../accounts/dkim.ts'
import { randomBase62 } from '../../core/base62.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { saveSender } from '../../accounts/sender-settings.ts'
import { pageAnswer } from '../layout/answers.ts'
import { onForm } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { saveSettings, showSender } from './sender.tsx'

/** Slightly over 256 bits. */
const SECRET_CHARACTERS = 43

/** DKIM key and bounce webhook secret; for owners. */
export const senderKeysRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post('/apps/:app/sender/dkim', onForm(deps, changeOf('make a DKIM key'), makeKey), { parse: 'none' })
    .post('/apps/:app/sender/dkim/remove', onForm(deps, { role: 'owner' }, removeKey), { parse: 'none' })
    .post('/apps/:app/sender/reports', onForm(deps, changeOf('make a secret for bounce reports'), makeSecret), {
      parse: 'none',
    })

const changeOf = (to: string) => ({ role: 'owner', confirm: { to }, page: 'sender' }) as const

async function makeKey(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const dkim = { domain: form.text('dkimDomain'), selector: form.text('dkimSelector') }
  const reading = readDkim(dkim)
  if ('errors' in reading) {
    return showSender(deps, request, viewer, { status: 400, typed: { dkim, errors: reading.errors } })
  }
  const { domain: dkimDomain, selector: dkimSelector } = reading.input
  const settings = { dkimDomain, dkimSelector, dkimKey: await makeDkimKey() }
  return saveSettings(deps, request, viewer, { settings, typed: { dkim, errors: [] }, flash: 'dkim_made' })
}

function removeKey(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const settings = { dkimDomain: null, dkimSelector: null, dkimKey: null }
  return saveSettings(deps, request, viewer, { settings, flash: 'dkim_removed' })
}

async function makeSecret(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
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
    title="Your new report secret"
    state="Reports signed with another secret are now refused."
  >
    <SecretOnce
      secrets={[{ id: 'report-secret', name: 'Report secret', text: secret }]}
      warning="Shown only once. Store it where your mail provider's reports are forwarded."
      next={pathOf(viewer.app.publicId, 'sender')}
    />
  </Frame>
)
