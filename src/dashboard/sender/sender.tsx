/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeSenderSample } from '../../mail/samples.ts'
import { checkMailServer } from '../../mail/server-check.ts'
import { checkSender } from '../../accounts/sender-checks.ts'
import { readDkimKey } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { findRemovedInUse } from '../../accounts/senders.ts'
import { type FieldError, isRefusal, REFUSALS } from '../../core/refusals.ts'
import {
  type MailSettings,
  readSender,
  readSenderText,
  saveSender,
  writeSender,
} from '../../accounts/sender-settings.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FlashCode } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import { readMailState } from '../deliveries/mail-state.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { SenderPage } from './sender-page.tsx'
import { type SenderProps, type Typed } from './sender-fields.tsx'

export const senderRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) =>
        new URL(request.url).searchParams.has('check')
          ? askDns(deps, request, viewer, { checksRecords: true })
          : showSender(deps, request, viewer),
      ),
    )
    .get('/apps/:app/sender/sample', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const sample = makeSenderSample(viewer.app, await deps.store.mailSettings(viewer.app.id))
        const mail = await deps.mailer.preview(sample)
        return 'html' in mail ? mailAnswer(mail.html) : problemAnswer(request, 'page_unknown')
      }),
    )
    .post('/apps/:app/sender', onForm(deps, { role: 'owner' }, save), { parse: 'none' })
    .post('/apps/:app/sender/domains', onForm(deps, { role: 'editor' }, checkDomains), { parse: 'none' })
    .post('/apps/:app/sender/server', onForm(deps, { role: 'editor' }, checkServer), { parse: 'none' })

const checkDomains = (deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> =>
  askDns(deps, request, viewer, { asksDns: true })

async function checkServer(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> {
  const serverCheck = await checkMailServer(deps, viewer.app)
  const status = serverCheck && isRefusal(serverCheck) ? REFUSALS[serverCheck.refusal].status : 200
  return showSender(deps, request, viewer, { status, serverCheck })
}

/** Rate limit of DNS lookups per account. */
const DOMAIN_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

async function askDns(deps: PageDependencies, request: Request, viewer: Viewer, asked: Shown): Promise<Response> {
  const { allowed } = deps.limits.take(`domain-check:${viewer.account.id}`, DOMAIN_CHECKS)
  if (allowed === 0) {
    const { status, message } = REFUSALS.rate_limited
    return showSender(deps, request, viewer, { status, notice: message })
  }
  return showSender(deps, request, viewer, asked)
}

/** Invalid input or the result of an action. */
type Shown = {
  status?: number
  typed?: Typed
  notice?: string
  serverCheck?: SenderProps['serverCheck']
  /** looks up SPF, DKIM and DMARC */
  checksRecords?: boolean
  /** looks up the records of unverified domains */
  asksDns?: boolean
}

/** Queries DNS only on request. */
export async function showSender(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, typed, notice, serverCheck = null, checksRecords = false, asksDns = false }: Shown = {},
): Promise<Response> {
  const settings = await deps.store.mailSettings(viewer.app.id)
  const sample = await deps.mailer.preview(makeSenderSample(viewer.app, settings))
  const page = (
    <SenderPage
      viewer={viewer}
      mail={await readMailState(deps, viewer.app)}
      mailRoute={deps.mailer.findMailRoute(settings)}
      settings={settings}
      input={typed?.sender ?? writeSender(settings)}
      typed={typed}
      notice={notice}
      sample={'html' in sample ? sample : null}
      serverCheck={serverCheck}
      checks={checksRecords ? await check(deps, settings) : null}
      domains={await deps.mailer.senders.listDomains(viewer.app, settings, { asksDns })}
      isChecked={asksDns}
      baseUrl={deps.baseUrl}
    />
  )
  return pageAnswer(request, status, page)
}

/** Empty without a sender. */
async function check({ mailer, resolveTxt }: Pick<PageDependencies, 'mailer' | 'resolveTxt'>, settings: MailSettings) {
  const { from, server } = mailer.findMailRoute(settings)
  const domain = from?.address.split('@')[1]
  if (domain === undefined) return []
  return checkSender(resolveTxt, {
    domain,
    server: server?.replace(/:\d+$/, '') ?? null,
    dkim: readDkimKey(settings),
  })
}

async function save(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const sender = readSenderText(form.text)
  const refuse = (status: number, errors: FieldError[]) =>
    showSender(deps, request, viewer, { status, typed: { sender, errors } })
  const reading = readSender(sender)
  if ('errors' in reading) return refuse(400, reading.errors)
  const { settings } = reading
  const { smtpUrl, fromEmail = null, otherFromEmails = null } = settings
  if (typeof smtpUrl === 'string' && deps.mailer.refusesServer(smtpUrl)) {
    return refuse(400, [{ field: 'smtpUrl', code: 'invalid', message: PRIVATE_SERVER }])
  }
  const inUse = await findRemovedInUse(deps.store, viewer.app, { fromEmail, otherFromEmails })
  if (inUse !== null) return refuse(409, [{ field: 'otherFromEmails', code: 'conflict', message: inUse }])
  return saveSettings(deps, request, viewer, { settings, typed: { sender, errors: [] }, flash: 'sender_saved' })
}

const PRIVATE_SERVER =
  'This address is not public. Use a public mail server, or ask the operator of this installation to allow it with EVENTPOST_MAIL_PRIVATE_HOSTS.'

type Saving = { settings: Partial<MailSettings>; typed?: Typed; flash: FlashCode }

/** Redirects after success; otherwise shows the input again. */
export async function saveSettings(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { settings, typed, flash }: Saving,
): Promise<Response> {
  const outcome = await saveSender(deps, viewer.app, { settings, actor: viewer.member.id })
  if (!('refusal' in outcome)) return doneAnswer(deps, viewer, 'sender', flash)
  const { status, message } = REFUSALS[outcome.refusal]
  return showSender(deps, request, viewer, { status, notice: message, typed })
}
