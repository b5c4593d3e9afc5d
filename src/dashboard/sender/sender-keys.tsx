/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  type DkimKeys,
  isSameName,
  makeDkimKey,
  readDkim,
  readDkimKeys,
  startWaitingKey,
  writeDkimKeys,
} from '../../accounts/dkim.ts'
import { randomBase62 } from '../../core/base62.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FlashCode } from '../layout/flash.ts'
import { doneAnswer, onForm } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { showDomain } from './domain.tsx'
import { saveSettings } from './sender.tsx'
import { showServer } from './server.tsx'
import { REPORT_DOCS } from './server-page.tsx'
import { bounceSample } from '../../docs/request-samples.ts'
import { CodeBlock } from '../ui/code.tsx'

/** Slightly over 256 bits. */
const SECRET_CHARACTERS = 43

/** DKIM key and bounce webhook secret; for owners. */
export const senderKeysRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post(
      '/apps/:app/sender/dkim',
      onForm(deps, { ...changeOf('create a DKIM key', 'sender/domain'), check: checkKey(deps) }, makeKey),
      {
        parse: 'none',
      },
    )
    .post('/apps/:app/sender/dkim/use', onForm(deps, { role: 'owner' }, useKey), { parse: 'none' })
    .post('/apps/:app/sender/dkim/discard', onForm(deps, { role: 'owner' }, discardKey), { parse: 'none' })
    .post('/apps/:app/sender/dkim/remove', onForm(deps, { role: 'owner' }, removeKey), { parse: 'none' })
    .post(
      '/apps/:app/sender/reports',
      onForm(deps, changeOf('create a secret for bounce reports', 'sender/server'), makeSecret),
      {
        parse: 'none',
      },
    )

const changeOf = (to: string, from: string) => ({ role: 'owner', confirm: { to, from }, page: 'sender' }) as const

const readText = (form: FormInput) => ({ domain: form.text('dkimDomain'), selector: form.text('dkimSelector') })

/** Before the password is asked for. */
const checkKey = (deps: PageDependencies) => async (request: Request, form: FormInput, viewer: Viewer) => {
  const text = readText(form)
  const reading = readNewKey(text, await readKeys(deps, viewer))
  if (!('errors' in reading)) return null
  const { errors } = reading
  return showDomain(deps, request, viewer, { text, basedOn: form.text('basedOn'), status: 400, errors })
}

const readKeys = async ({ store }: PageDependencies, { app }: Viewer): Promise<DkimKeys> =>
  readDkimKeys(await store.mailSettings(app.id))

/** Two keys can't share a record. */
function readNewKey(text: ReturnType<typeof readText>, { signing }: DkimKeys): ReturnType<typeof readDkim> {
  const reading = readDkim(text)
  if ('errors' in reading || signing === null || !isSameName(reading.input, signing)) return reading
  const message = 'The current key has this selector. Choose another one, so that both records can be published.'
  return { errors: [{ field: 'dkimSelector', code: 'conflict', message }] }
}

async function makeKey(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const text = readText(form)
  const basedOn = form.text('basedOn')
  const show = (shown: Parameters<typeof showDomain>[3]) =>
    showDomain(deps, request, viewer, { text, basedOn, ...shown })
  const keys = await readKeys(deps, viewer)
  const reading = readNewKey(text, keys)
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const waiting = { ...reading.input, key: await makeDkimKey() }
  return saveSettings(deps, viewer, {
    form: 'dkim',
    settings: writeDkimKeys({ signing: keys.signing, waiting }),
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender/domain', 'dkim_made'),
  })
}

type KeyChange = { needs: 'waiting' | 'any'; change: (keys: DkimKeys) => DkimKeys; done: FlashCode }

const changeKeys =
  ({ needs, change, done }: KeyChange) =>
  async (deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> => {
    const show = ({ status, notice }: { status: number; notice: string }) =>
      showDomain(deps, request, viewer, { status, notice })
    const keys = await readKeys(deps, viewer)
    if (keys.waiting === null && (needs === 'waiting' || keys.signing === null)) {
      const missing = needs === 'waiting' ? 'No new DKIM key is waiting for its record.' : 'This app has no DKIM key.'
      return show({ status: 409, notice: `${missing} Nothing was changed.` })
    }
    return saveSettings(deps, viewer, {
      form: 'dkim',
      settings: writeDkimKeys(change(keys)),
      basedOn: form.text('basedOn'),
      show,
      done: () => doneAnswer(deps, viewer, 'sender/domain', done),
    })
  }

/** Uses the new key although its record was not found. */
const useKey = changeKeys({ needs: 'waiting', change: startWaitingKey, done: 'dkim_used' })
const discardKey = changeKeys({
  needs: 'waiting',
  change: ({ signing }) => ({ signing, waiting: null }),
  done: 'dkim_discarded',
})
const removeKey = changeKeys({ needs: 'any', change: () => ({ signing: null, waiting: null }), done: 'dkim_removed' })

async function makeSecret(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const bounceSecret = randomBase62(SECRET_CHARACTERS)
  const isFirst = (await deps.store.mailSettings(viewer.app.id)).bounceSecret === null
  return saveSettings(deps, viewer, {
    form: 'reports',
    settings: { bounceSecret },
    basedOn: form.text('basedOn'),
    show: ({ status, notice }) => showServer(deps, request, viewer, { status, notice }),
    done: () =>
      pageAnswer(request, 200, <SecretPage {...{ viewer, isFirst }} secret={bounceSecret} baseUrl={deps.baseUrl} />),
  })
}

type SecretProps = { viewer: Viewer; isFirst: boolean; secret: string; baseUrl: string }

const SecretPage = ({ viewer, isFirst, secret, baseUrl }: SecretProps) => (
  <Frame
    viewer={viewer}
    page="sender"
    title={isFirst ? 'Your report secret' : 'Your new report secret'}
    state={isFirst ? 'Your script can report bounces now.' : 'Reports signed with the previous secret are now refused.'}
  >
    <SecretOnce
      secrets={[{ id: 'report-secret', name: 'Report secret', text: secret }]}
      warning="Shown only once. Store it as REPORT_SECRET in the script that reports bounces."
      next={pathOf(viewer.app.publicId, 'sender/server')}
    >
      <p>
        Sign each report with it. <a href={REPORT_DOCS}>Report a bounce</a> describes the fields.
      </p>
      <CodeBlock id="report" label="Report a bounce">
        {bounceSample(`${baseUrl}/hooks/bounces/${viewer.app.publicId}`, '{"kind":"bounced","delivery":"dlv_..."}')}
      </CodeBlock>
    </SecretOnce>
  </Frame>
)
