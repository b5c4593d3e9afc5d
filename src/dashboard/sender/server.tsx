/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type ApiText, readApiAccount, readApiText, storedKey, typedKey } from '../../accounts/api-account.ts'
import { findProvider } from '../../accounts/mail-providers.ts'
import {
  NO_SERVER,
  readServer,
  readServerText,
  type ServerText,
  typedLogin,
  urlOf,
} from '../../accounts/mail-server.ts'
import { sealTyped, unsealTyped } from '../../accounts/typed-secrets.ts'
import { readPublicId } from '../../core/ids.ts'
import { makeMailbox } from '../../core/mail-addresses.ts'
import { describeService, isApi, type MailService, readMailUrl } from '../../core/mail-apis.ts'
import { countCaptured } from '../../deliveries/delivery-lists.ts'
import { type FieldError, isRefusal, REFUSALS } from '../../core/refusals.ts'
import { makeSenderSample } from '../../mail/samples.ts'
import { checkMailServer } from '../../mail/server-check.ts'
import type { ServerCheck } from '../../messages/mailer.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import { pathOf } from '../layout/frame.tsx'
import { refuseTest } from '../messages/tested-emails.ts'
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
    .post('/apps/:app/sender/server/test', onForm(deps, { role: 'editor' }, sendTest), { parse: 'none' })

type Shown = Refused<ServerText | ApiText> &
  Partial<Pick<Parameters<typeof ServerPage>[0], 'failed' | 'check' | 'test' | 'sealed' | 'webhooks'>> & {
    status?: number
    /** ID of the message that led here */
    from?: string
  }

const OTHER = 'other'
const SMTP = 'smtp'

export async function showServer(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  {
    status = 200,
    failed = null,
    check = null,
    test = null,
    sealed = '',
    webhooks = { test: null },
    from,
    ...refused
  }: Shown = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const captured = await countCaptured(deps.store, viewer.app)
  const query = new URL(request.url).searchParams
  const asked = query.get('provider') ?? ''
  const id = readPublicId('msg', from ?? query.get('message') ?? '')
  const message = id === null ? null : await deps.store.findMessage(viewer.app.id, id)
  const provider = findProvider(asked)
  const text = refused.text ?? (asked === OTHER ? NO_SERVER : undefined)
  return pageAnswer(
    request,
    status,
    <ServerPage
      {...{ facts, refused: { ...refused, text }, provider, failed, check, test, sealed, captured, message }}
      isSmtpAsked={query.get('by') === SMTP}
      allowsPrivate={deps.mailer.allowsPrivateServers}
      webhooks={webhooks}
      reports={await deps.store.listLastReports(viewer.app.id)}
      now={deps.clock.now()}
    />,
  )
}

/** Tries the connection before it saves. */
async function saveServer(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const basedOn = form.text('basedOn')
  const { smtpUrl: stored, ...others } = await deps.store.mailSettings(viewer.app.id)
  const sealing = { key: deps.previewKey, appId: viewer.app.publicId }
  const text = readApiText(form.text) ?? readServerText(form.text)
  const typed = 'api' in text ? typedKey(text) : typedLogin(text)
  const sealed = sealTyped(sealing, typed, form.text('sealed'))
  const from = form.text('message')
  const show = (shown: Shown) => showServer(deps, request, viewer, { text, basedOn, sealed, from, ...shown })
  const carried = typed && { ...typed, secret: unsealTyped(sealing, typed, sealed) }
  const reading = readService(text, { carried, stored: stored === null ? null : readMailUrl(stored) })
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { service } = reading
  const smtpUrl = urlOf(service, stored)
  if (deps.mailer.refusesServer(smtpUrl)) {
    return show({
      status: 400,
      errors: [{ field: 'smtpHost', code: 'invalid', message: describePrivate(service.host) }],
    })
  }
  const isForced = form.text('do') === 'save_anyway'
  const check = isForced ? null : await checkMailServer(deps, viewer.app, { ...others, smtpUrl })
  if (check !== null && (isRefusal(check) || check.is === 'failed')) {
    const failed = { check, server: describeService(service), isApi: isApi(service) }
    return show({ status: isRefusal(check) ? REFUSALS[check.refusal].status : 422, failed })
  }
  return saveSettings(deps, viewer, {
    form: 'server',
    settings: { smtpUrl },
    basedOn,
    show,
    done: () => {
      const back = readPublicId('msg', from) === null ? '' : `?message=${from}`
      const path = `${pathOf(viewer.app.publicId, 'sender/server')}${back}`
      return redirectAnswer(path, [flashCookie(deps.baseUrl, flashOf(check))])
    },
  })
}

function flashOf(check: ServerCheck | null): FlashCode {
  if (check === null) return 'server_saved_unchecked'
  return check.is === 'failed' || check.isSecure ? 'server_saved' : 'server_saved_plain'
}

type Known = { carried: { host: string; user: string; secret: string | null } | null; stored: MailService | null }

/** An empty password or key stands for the one just typed, or for the stored one. */
function readService(
  text: ServerText | ApiText,
  { carried, stored }: Known,
): { service: MailService } | { errors: FieldError[] } {
  const secret = carried?.secret ?? null
  if ('api' in text) {
    const kept = storedKey(text, stored && isApi(stored) ? stored : null)
    const reading = readApiAccount(text, secret ?? kept)
    return 'errors' in reading ? reading : { service: reading.account }
  }
  const typed =
    carried && secret !== null ? [{ host: carried.host, login: { user: carried.user, password: secret } }] : []
  const reading = readServer(text, stored === null || isApi(stored) ? typed : [...typed, stored])
  return 'errors' in reading ? reading : { service: reading.server }
}

const describePrivate = (host: string): string =>
  `This address is not public. Use a public mail server, or restart Eventpost with \`--mail-private-hosts ${host}\` or \`EVENTPOST_MAIL_PRIVATE_HOSTS=${host}\`.`

function removeServer(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  return saveSettings(deps, viewer, {
    form: 'server',
    settings: { smtpUrl: null },
    basedOn: form.text('basedOn'),
    show: ({ status, notice }) => showServer(deps, request, viewer, { status, notice }),
    done: () => doneAnswer(deps, viewer, 'sender/server', 'server_removed'),
  })
}

async function checkSaved(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const check = await checkMailServer(deps, viewer.app, await deps.store.mailSettings(viewer.app.id))
  const status = check && isRefusal(check) ? REFUSALS[check.refusal].status : 200
  return showServer(deps, request, viewer, { status, check, from: form.text('message') })
}

/** To the member, as emails of messages are sent. */
async function sendTest(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const from = form.text('message')
  const notice = await refuseTest(deps, viewer)
  if (notice !== null) return showServer(deps, request, viewer, { status: 429, notice, from })
  const to = makeMailbox('', viewer.member.email)
  if (to === null) return showServer(deps, request, viewer, { status: 400, notice: NO_MAILBOX, from })
  const settings = await deps.store.mailSettings(viewer.app.id)
  const test = await deps.mailer.sendTest(makeSenderSample(viewer.app, settings), to)
  return showServer(deps, request, viewer, { test, from })
}

const NO_MAILBOX = "Test emails can't be sent to your email address. Ask another member to send one."
