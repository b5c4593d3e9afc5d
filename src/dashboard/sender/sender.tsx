/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { makeSenderSample } from '../../mail/samples.ts'
import { checkMailServer } from '../../mail/server-check.ts'
import { checkSender } from '../../accounts/sender-checks.ts'
import { readDkimKey } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { findRemovedInUse } from '../../accounts/senders.ts'
import { type FieldError, isRefusal, REFUSALS, refuse } from '../../core/refusals.ts'
import {
  type MailSettings,
  pickForm,
  readSender,
  readSenderText,
  saveSender,
  type SenderForm,
  writeSender,
} from '../../accounts/sender-settings.ts'
import { listChanged, markSettings } from '../../accounts/settings-basis.ts'
import { describeConflict } from '../access/settings-conflicts.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import { readMailState } from '../deliveries/mail-state.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { SenderPage } from './sender-page.tsx'
import { listChangedFields, type SenderProps, type Typed } from './sender-fields.tsx'

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
      basedOn={findMarks(deps, viewer, settings, typed)}
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

const marked = ({ previewKey: key }: PageDependencies, { app }: Viewer, form: SenderForm, settings: MailSettings) => ({
  key,
  appId: app.publicId,
  settings: pickForm(form, settings),
})

function findMarks(
  deps: PageDependencies,
  viewer: Viewer,
  settings: MailSettings,
  typed?: Typed,
): Record<SenderForm, string> {
  const markOf = (form: SenderForm): string => markSettings(marked(deps, viewer, form, settings))
  return {
    sender: (typed?.sender && typed.basedOn) ?? markOf('sender'),
    dkim: (typed?.dkim && typed.basedOn) ?? markOf('dkim'),
    reports: markOf('reports'),
  }
}

async function save(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const sender = readSenderText(form.text)
  const basedOn = form.text('basedOn')
  const showErrors = (status: number, errors: FieldError[]) =>
    showSender(deps, request, viewer, { status, typed: { sender, basedOn, errors } })
  const reading = readSender(sender)
  if ('errors' in reading) return showErrors(400, reading.errors)
  const { settings } = reading
  const { smtpUrl, fromEmail = null, otherFromEmails = null } = settings
  if (typeof smtpUrl === 'string' && deps.mailer.refusesServer(smtpUrl)) {
    return showErrors(400, [{ field: 'smtpUrl', code: 'invalid', message: PRIVATE_SERVER }])
  }
  const inUse = await findRemovedInUse(deps.store, viewer.app, { fromEmail, otherFromEmails })
  if (inUse !== null) return showErrors(409, [{ field: 'otherFromEmails', code: 'conflict', message: inUse }])
  const saving: Saving = { form: 'sender', settings, typed: { sender, basedOn, errors: [] }, basedOn }
  return saveSettings(deps, request, viewer, saving, () => doneAnswer(deps, viewer, 'sender', 'sender_saved'))
}

const PRIVATE_SERVER =
  'This address is not public. Use a public mail server, or ask the operator of this installation to allow it with EVENTPOST_MAIL_PRIVATE_HOSTS.'

/** `basedOn`: the marks that the form sent. */
type Saving = { form: SenderForm; settings: Partial<MailSettings>; basedOn: string; typed?: Typed }

/** Answers with `done` after success; otherwise shows the input again. */
export async function saveSettings(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { form, settings, basedOn, typed }: Saving,
  done: () => Response,
): Promise<Response> {
  const stored = await deps.store.mailSettings(viewer.app.id)
  const isOutdated = listChanged(marked(deps, viewer, form, stored), basedOn).length > 0
  const saved = { settings, basedOn: pickForm(form, stored), actor: viewer.member.id }
  const outcome = isOutdated ? refuse('settings_changed') : await saveSender(deps, viewer.app, saved)
  if (!('refusal' in outcome)) return done()
  const { status, message } = REFUSALS[outcome.refusal]
  if (outcome.refusal !== 'settings_changed')
    return showSender(deps, request, viewer, { status, notice: message, typed })
  const notice = await describeChange(deps, viewer, form, basedOn)
  return showSender(deps, request, viewer, { status, notice, typed: typed && { ...typed, basedOn: undefined } })
}

/** Audit entries of the sender name no app, so who it was is known in accounts with one app. */
async function describeChange(
  deps: PageDependencies,
  viewer: Viewer,
  form: SenderForm,
  basedOn: string,
): Promise<string> {
  const settings = await deps.store.mailSettings(viewer.app.id)
  const names = listChanged(marked(deps, viewer, form, settings), basedOn)
  const hasOneApp = viewer.accounts.find(({ id }) => id === viewer.account.id)?.apps.length === 1
  return describeConflict(deps, viewer, {
    changed: listChangedFields(settings, names),
    isIt: ({ action, subject }) =>
      hasOneApp && action === 'mail.set' && (subject ?? '').split(/, ?/).some((name) => names.includes(name)),
  })
}
