/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { findProvider } from '../../accounts/mail-providers.ts'
import {
  type KnownLogin,
  NO_SERVER,
  readServer,
  readServerText,
  sealTyped,
  type ServerText,
  unsealTyped,
  urlOf,
} from '../../accounts/mail-server.ts'
import { readSmtpUrl } from '../../core/mail-addresses.ts'
import { countCaptured } from '../../deliveries/delivery-lists.ts'
import { isRefusal, REFUSALS } from '../../core/refusals.ts'
import { checkMailServer } from '../../mail/server-check.ts'
import type { ServerCheck } from '../../messages/mailer.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FlashCode } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { readSenderFacts, saveSettings } from './sender.tsx'
import type { Refused } from './sender-frame.tsx'
import { ServerPage } from './server-page.tsx'

/** The mail server of an app. */
export const senderServerRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/server', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showServer(deps, request, viewer)),
    )
    .post('/apps/:app/sender/server', onForm(deps, { role: 'owner' }, saveServer), { parse: 'none' })
    .post('/apps/:app/sender/server/remove', onForm(deps, { role: 'owner' }, removeServer), { parse: 'none' })
    .post('/apps/:app/sender/server/check', onForm(deps, { role: 'editor' }, checkSaved), { parse: 'none' })

type Shown = Refused<ServerText> &
  Partial<Pick<Parameters<typeof ServerPage>[0], 'failed' | 'check' | 'sealed'>> & { status?: number }

const OTHER = 'other'

export async function showServer(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, failed = null, check = null, sealed = '', ...refused }: Shown = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const captured = await countCaptured(deps.store, viewer.app)
  const asked = new URL(request.url).searchParams.get('provider') ?? ''
  const provider = findProvider(asked)
  const text = refused.text ?? (asked === OTHER ? NO_SERVER : undefined)
  return pageAnswer(
    request,
    status,
    <ServerPage {...{ facts, refused: { ...refused, text }, provider, failed, check, sealed, captured }} />,
  )
}

/** Tries the connection before it saves. */
async function saveServer(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = readServerText(form.text)
  const basedOn = form.text('basedOn')
  const { smtpUrl: stored, ...others } = await deps.store.mailSettings(viewer.app.id)
  const sealing = { key: deps.previewKey, appId: viewer.app.publicId }
  const sealed = sealTyped(sealing, text, form.text('sealed'))
  const show = (shown: Shown) => showServer(deps, request, viewer, { text, basedOn, sealed, ...shown })
  const reading = readServer(text, listKnown(unsealTyped(sealing, text, sealed), stored))
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { server } = reading
  const smtpUrl = urlOf(server, stored)
  if (deps.mailer.refusesServer(smtpUrl)) {
    return show({
      status: 400,
      errors: [{ field: 'smtpHost', code: 'invalid', message: describePrivate(server.host) }],
    })
  }
  const isForced = form.text('do') === 'save_anyway'
  const check = isForced ? null : await checkMailServer(deps, viewer.app, { ...others, smtpUrl })
  if (check !== null && (isRefusal(check) || check.is === 'failed')) {
    const failed = { check, host: `${server.host}:${server.port}` }
    return show({ status: isRefusal(check) ? REFUSALS[check.refusal].status : 422, failed })
  }
  return saveSettings(deps, viewer, {
    form: 'server',
    settings: { smtpUrl },
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender/server', flashOf(check)),
  })
}

const flashOf = (check: ServerCheck | null): FlashCode =>
  check === null
    ? 'server_saved_unchecked'
    : check.is === 'fine' && !check.isSecure
      ? 'server_saved_plain'
      : 'server_saved'

const listKnown = (typed: KnownLogin | null, stored: string | null): KnownLogin[] =>
  [typed, stored === null ? null : readSmtpUrl(stored)].filter((one) => one !== null)

const describePrivate = (host: string): string =>
  `This address is not public. Use a public mail server, or have the operator start Eventpost with \`--mail-private-hosts ${host}\`.`

function removeServer(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  return saveSettings(deps, viewer, {
    form: 'server',
    settings: { smtpUrl: null },
    basedOn: form.text('basedOn'),
    show: ({ status, notice }) => showServer(deps, request, viewer, { status, notice }),
    done: () => doneAnswer(deps, viewer, 'sender/server', 'server_removed'),
  })
}

async function checkSaved(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const check = await checkMailServer(deps, viewer.app, await deps.store.mailSettings(viewer.app.id))
  const status = check && isRefusal(check) ? REFUSALS[check.refusal].status : 200
  return showServer(deps, request, viewer, { status, check })
}
