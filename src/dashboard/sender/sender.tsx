/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeSenderSample } from '../../mail/sender-sample.ts'
import { checkMailServer } from '../../mail/server-check.ts'
import { checkSender } from '../../accounts/sender-checks.ts'
import { readDkimKey } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { findRemovedInUse } from '../../accounts/senders.ts'
import { isRefusal, REFUSALS, type Refusal } from '../../core/refusals.ts'
import {
  type MailSettings,
  readSender,
  readSenderText,
  saveSender,
  writeSender,
} from '../../accounts/sender-settings.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
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
    .post(
      '/apps/:app/sender',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner' }, (form, viewer) => save(deps, request, viewer, form)),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/sender/domains',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'editor' }, (_, viewer) =>
          askDns(deps, request, viewer, { asksDns: true }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/sender/server',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'editor' }, async (_, viewer) => {
          const serverCheck = await checkMailServer(deps, viewer.app)
          const status = serverCheck && isRefusal(serverCheck) ? REFUSALS[serverCheck.refusal].status : 200
          return showSender(deps, request, viewer, { status, serverCheck })
        }),
      { parse: 'none' },
    )

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
      way={deps.mailer.findMailRoute(settings)}
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

async function save(deps: PageDependencies, request: Request, viewer: Viewer, form: Form): Promise<Response> {
  const sender = readSenderText(form.text)
  const reading = readSender(sender)
  if ('errors' in reading) {
    return showSender(deps, request, viewer, { status: 400, typed: { sender, errors: reading.errors } })
  }
  const { smtpUrl } = reading.settings
  if (typeof smtpUrl === 'string' && deps.mailer.refusesServer(smtpUrl)) {
    const errors = [{ field: 'smtpUrl', code: 'invalid', message: PRIVATE_SERVER }]
    return showSender(deps, request, viewer, { status: 400, typed: { sender, errors } })
  }
  const { fromEmail = null, otherFromEmails = null } = reading.settings
  const inUse = await findRemovedInUse(deps.store, viewer.app, { fromEmail, otherFromEmails })
  if (inUse !== null) {
    const errors = [{ field: 'otherFromEmails', code: 'conflict', message: inUse }]
    return showSender(deps, request, viewer, { status: 409, typed: { sender, errors } })
  }
  return saveSettings(deps, request, viewer, {
    settings: reading.settings,
    typed: { sender, errors: [] },
    flash: 'sender_saved',
  })
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
  if (!('refusal' in outcome))
    return redirectAnswer(pathOf(viewer.app.publicId, 'sender'), [flashCookie(deps.baseUrl, flash)])
  return showSender(deps, request, viewer, { ...untakenOf(outcome), typed })
}

const untakenOf = ({ refusal }: Pick<Refusal, 'refusal'>): Shown => {
  const { status, message } = REFUSALS[refusal]
  return { status, notice: message }
}
