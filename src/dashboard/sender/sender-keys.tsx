/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeDkimKey, readDkim } from '../../accounts/dkim.ts'
import { randomBase62 } from '../../core/base62.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm } from '../layout/require-member.tsx'
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
  const basedOn = form.text('basedOn')
  const reading = readDkim(dkim)
  if ('errors' in reading) {
    return showSender(deps, request, viewer, { status: 400, typed: { dkim, basedOn, errors: reading.errors } })
  }
  const { domain: dkimDomain, selector: dkimSelector } = reading.input
  const settings = { dkimDomain, dkimSelector, dkimKey: await makeDkimKey() }
  const typed = { dkim, basedOn, errors: [] }
  const saving = { form: 'dkim', settings, basedOn, typed } as const
  return saveSettings(deps, request, viewer, saving, () => doneAnswer(deps, viewer, 'sender', 'dkim_made'))
}

function removeKey(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const settings = { dkimDomain: null, dkimSelector: null, dkimKey: null }
  const saving = { form: 'dkim', settings, basedOn: form.text('basedOn') } as const
  return saveSettings(deps, request, viewer, saving, () => doneAnswer(deps, viewer, 'sender', 'dkim_removed'))
}

function makeSecret(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const bounceSecret = randomBase62(SECRET_CHARACTERS)
  const saving = { form: 'reports', settings: { bounceSecret }, basedOn: form.text('basedOn') } as const
  return saveSettings(deps, request, viewer, saving, () =>
    pageAnswer(request, 200, <SecretPage viewer={viewer} secret={bounceSecret} />),
  )
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
