/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { topicTokenOf } from '../../accounts/hook-secrets.ts'
import { findLeftWithoutSender, findRemovedInUse } from '../../accounts/senders.ts'
import {
  type FromText,
  type LimitsText,
  type MailSettings,
  pickForm,
  readFrom,
  readFromText,
  readLimits,
  readLimitsText,
  saveSender,
  type SenderForm,
  writeBrake,
  writeFrom,
  writeLimits,
} from '../../accounts/sender-settings.ts'
import { listChanged, markSettings } from '../../accounts/settings-basis.ts'
import { REFUSALS, refuse } from '../../core/refusals.ts'
import { makeSenderSample } from '../../mail/samples.ts'
import { type ChangedField, describeConflict } from '../access/settings-conflicts.ts'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import { readMailState } from '../../monitoring/mail-state.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { FromPage } from './from-page.tsx'
import { LimitsPage } from './limits-page.tsx'
import { describeFrom, type Refused, type SenderFacts } from './sender-frame.tsx'
import { describeWindow, SETTING_LABELS, UNSHOWN_LABELS } from './setting-labels.ts'

/** From and look; hours and limits. */
export const senderRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showFrom(deps, request, viewer)),
    )
    .get('/apps/:app/sender/sample', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const look = readLook(new URL(request.url).searchParams)
        const sample = makeSenderSample(viewer.app, { ...(await deps.store.mailSettings(viewer.app.id)), ...look })
        const mail = await deps.mailer.preview(sample)
        return 'html' in mail ? mailAnswer(request, mail.html) : problemAnswer(request, 'page_unknown')
      }),
    )
    .get('/apps/:app/sender/limits', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showLimits(deps, request, viewer)),
    )
    .post('/apps/:app/sender', onForm(deps, { role: 'owner' }, saveFrom), { parse: 'none' })
    .post('/apps/:app/sender/limits', onForm(deps, { role: 'owner' }, saveLimits), { parse: 'none' })

const LOOK = ['logoUrl', 'colour', 'postalAddress'] as const

/** Unsaved settings that a preview shows; the saved ones stand in for those that are invalid. */
function readLook(query: URLSearchParams): Partial<MailSettings> {
  const looks = LOOK.filter((name) => query.has(name)).map((name): Partial<MailSettings> => {
    const reading = readFrom(readFromText((one) => (one === name ? (query.get(name) ?? '') : '')))
    return 'errors' in reading ? {} : { [name]: reading.settings[name] }
  })
  return Object.assign({}, ...looks) as Partial<MailSettings>
}

export async function readSenderFacts(deps: PageDependencies, viewer: Viewer): Promise<SenderFacts> {
  const settings = await deps.store.mailSettings(viewer.app.id)
  const markOf = (form: SenderForm): string => markSettings(marked(deps, viewer, form, settings))
  return {
    viewer,
    settings,
    mail: await readMailState(deps, viewer.app),
    mailRoute: deps.mailer.findMailRoute({ settings, app: viewer.app }),
    limits: deps.mailer.findLimits(settings),
    acceptedAt: deps.mailer.findAccepted(settings),
    marks: {
      from: markOf('from'),
      layout: markOf('layout'),
      texts: markOf('texts'),
      server: markOf('server'),
      limits: markOf('limits'),
      brake: markOf('brake'),
      dkim: markOf('dkim'),
      reports: markOf('reports'),
      webhooks: markOf('webhooks'),
      optIn: markOf('optIn'),
    },
    baseUrl: deps.baseUrl,
    topicToken: topicTokenOf(deps.previewKey, viewer.app.publicId),
  }
}

const marked = ({ previewKey: key }: PageDependencies, { app }: Viewer, form: SenderForm, settings: MailSettings) => ({
  key,
  appId: app.publicId,
  settings: pickForm(form, settings),
})

export type Shown<Text> = Refused<Text> & { status?: number }

async function showFrom(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, isPreview = false, ...refused }: Shown<FromText> & { isPreview?: boolean } = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const { text } = refused
  const reading = isPreview && text ? readFrom(text) : null
  const unsaved = reading && 'settings' in reading ? reading.settings : null
  const shown = { ...facts.settings, ...unsaved }
  const mail = await deps.mailer.preview(makeSenderSample(viewer.app, shown))
  const look = unsaved && text ? new URLSearchParams(LOOK.map((name) => [name, text[name]])) : null
  const from = describeFrom(deps.mailer.findMailRoute({ settings: shown, app: viewer.app }).from)
  const sample = 'html' in mail ? { mail, from, look } : null
  const installation = deps.mailer.senders.installation.from
  return pageAnswer(request, status, <FromPage {...{ facts, refused, sample, installation }} />)
}

async function saveFrom(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const text = readFromText(form.text)
  const basedOn = form.text('basedOn')
  const show = (shown: Shown<FromText>) => showFrom(deps, request, viewer, { text, basedOn, ...shown })
  const reading = readFrom(text)
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  if (form.text('do') === 'preview') {
    return showFrom(deps, request, viewer, { text, basedOn, isPreview: true })
  }
  const { settings } = reading
  const { from: fallback } = deps.mailer.senders.installation
  const isNeeded = await findLeftWithoutSender(deps.store, viewer.app, settings, fallback)
  if (isNeeded !== null) {
    return show({ status: 409, errors: [{ field: 'fromEmail', code: 'conflict', message: isNeeded }] })
  }
  const inUse = await findRemovedInUse(deps.store, viewer.app, settings)
  if (inUse !== null) {
    return show({ status: 409, errors: [{ field: 'otherFromEmails', code: 'conflict', message: inUse }] })
  }
  return saveSettings(deps, viewer, {
    form: 'from',
    settings,
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender', 'sender_saved'),
  })
}

async function showLimits(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, ...refused }: Shown<LimitsText> = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  return pageAnswer(request, status, <LimitsPage facts={facts} refused={refused} />)
}

function saveLimits(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Response | Promise<Response> {
  const text = readLimitsText(form.text)
  const basedOn = form.text('basedOn')
  const show = (shown: Shown<LimitsText>) => showLimits(deps, request, viewer, { text, basedOn, ...shown })
  const reading = readLimits(text)
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  return saveSettings(deps, viewer, {
    form: 'limits',
    settings: reading.settings,
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender/limits', 'limits_saved'),
  })
}

/** `basedOn`: the marks that the form sent. `show`: the page again, with its input. */
type Saving = {
  form: SenderForm
  settings: Partial<MailSettings>
  basedOn: string
  show: (shown: { status: number; notice: string; basedOn?: string }) => Promise<Response>
  done: () => Response
}

/** Saves the settings of one form, unless somebody else changed them since it was shown. */
export async function saveSettings(
  deps: PageDependencies,
  viewer: Viewer,
  { form, settings, basedOn, show, done }: Saving,
): Promise<Response> {
  const stored = await deps.store.mailSettings(viewer.app.id)
  const isOutdated = listChanged(marked(deps, viewer, form, stored), basedOn).length > 0
  const saved = { settings, basedOn: pickForm(form, stored), actor: viewer.member.id }
  const outcome = isOutdated ? refuse('settings_changed') : await saveSender(deps, viewer.app, saved)
  if (!('refusal' in outcome)) return done()
  const { status, message } = REFUSALS[outcome.refusal]
  if (outcome.refusal !== 'settings_changed') return show({ status, notice: message })
  return show({ status, notice: await describeChange(deps, viewer, form, basedOn), basedOn: undefined })
}

/** Audit entries about the sender name no app, so they tell who it was only in accounts with one app. */
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
    action: 'mail.set',
    isIt: ({ subject }) => hasOneApp && (subject ?? '').split(/, ?/).some((name) => names.includes(name)),
  })
}

/** The fields of the changed settings, with what is stored now. */
function listChangedFields(settings: MailSettings, names: string[]): ChangedField[] {
  const limits = writeLimits(settings)
  const text = new Map<string, unknown>(Object.entries({ ...writeFrom(settings), ...limits, ...writeBrake(settings) }))
  return names.flatMap((name): ChangedField[] => {
    if (name === 'sendWindow') return [{ label: 'Sending hours', now: describeWindow(limits) }]
    if (name === 'optIn') return [{ label: 'Double opt-in', now: settings.optIn?.isOn ? 'on' : 'off' }]
    const [label, unshown] = [SETTING_LABELS.get(name), UNSHOWN_LABELS.get(name)]
    if (unshown !== undefined) return [{ label: unshown }]
    return label === undefined ? [] : [{ label, now: String(text.get(name)).replaceAll('\n', ', ') }]
  })
}
