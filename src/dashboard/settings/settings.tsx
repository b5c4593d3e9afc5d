/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  type AppSettings,
  type AppSettingsText,
  findAppSettings,
  hasPorts,
  readAppSettings,
  saveAppSettings,
  writeAppSettings,
} from '../../accounts/app-settings.ts'
import {
  describeDeletions,
  findDeletions,
  readRetentionText,
  REQUEST_DAYS,
  RESPONSE_DAYS,
} from '../../accounts/retention.ts'
import { listChanged, markSettings } from '../../accounts/settings-basis.ts'
import { REFUSALS, refuse } from '../../core/refusals.ts'
import { pageAnswer } from '../layout/answers.ts'
import { type ChangedField, describeConflict } from '../access/settings-conflicts.ts'
import type { FlashCode } from '../layout/flash.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { ConfirmDeletionPage, SettingsPage, type SettingsProps } from './settings-page.tsx'

export const settingsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/settings', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const settings = await findAppSettings(deps.store, viewer.app)
        const basedOn = markSettings(marked(deps, viewer, settings))
        return pageAnswer(request, 200, <SettingsPage {...{ viewer, input: writeAppSettings(settings), basedOn }} />)
      }),
    )
    .post('/apps/:app/settings', onForm(deps, { role: 'owner' }, saveSettings), { parse: 'none' })

const marked = ({ previewKey: key }: PageDependencies, { app }: Viewer, settings: AppSettings) => ({
  key,
  appId: app.publicId,
  settings,
})

async function saveSettings(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const input = readText(form)
  const basedOn = form.text('basedOn')
  const show = (status: number, more: Pick<SettingsProps, 'errors' | 'notice'>, from = basedOn) =>
    pageAnswer(request, status, <SettingsPage {...{ viewer, input, basedOn: from, ...more }} />)
  const reading = readAppSettings(input, viewer.app)
  if ('errors' in reading) return show(400, reading)
  const stored = await findAppSettings(deps.store, viewer.app)
  const isOutdated = listChanged(marked(deps, viewer, stored), basedOn).length > 0
  if (!isOutdated && form.text('confirmed') === '') {
    const change = { appId: viewer.app.id, before: stored.retention, after: reading.settings.retention }
    const deletions = await findDeletions(deps.store, { ...change, now: deps.clock.now() })
    const what = describeDeletions(deletions, reading.settings.timezone)
    const page = <ConfirmDeletionPage {...{ viewer, what, fields: form.fields }} />
    if (deletions.length > 0) return pageAnswer(request, 200, page)
  }
  const outcome = isOutdated
    ? refuse('settings_changed')
    : await saveAppSettings(deps, viewer.app, { ...reading, basedOn: stored, actor: viewer.member.id })
  const codes: FlashCode[] = hasPorts(input) ? ['settings_saved', 'ports_ignored'] : ['settings_saved']
  if (!('refusal' in outcome)) return doneAnswer(deps, viewer, 'settings', ...codes)
  const { status, message } = REFUSALS[outcome.refusal]
  if (outcome.refusal !== 'settings_changed') return show(status, { notice: message })
  const app = (await deps.store.findAppByPublicId(viewer.app.publicId)) ?? viewer.app
  const settings = await findAppSettings(deps.store, app)
  const notice = await describeConflict(deps, viewer, {
    changed: listChangedFields(settings, listChanged(marked(deps, viewer, settings), basedOn)),
    action: 'app.update',
    isIt: ({ subject }) => subject === app.publicId,
  })
  return show(status, { notice }, markSettings(marked(deps, viewer, settings)))
}

function listChangedFields(settings: AppSettings, changed: string[]): ChangedField[] {
  const { name, homeUrl, hosts, timezone, locale, snippet, retention } = settings
  const days = (stored: number | null): string =>
    stored === null ? 'no limit' : stored === 1 ? '1 day' : `${stored} days`
  const fields: Record<keyof AppSettings, ChangedField[]> = {
    name: [{ label: 'Name', now: name }],
    homeUrl: [{ label: 'Home page', now: homeUrl ?? '' }],
    hosts: [{ label: 'Domains', now: hosts.join(', ') }],
    timezone: [{ label: 'Timezone', now: timezone }],
    locale: [{ label: 'Locale', now: locale }],
    snippet: [
      { label: 'Allowed hosts', now: snippet.hosts.join(', ') },
      { label: 'Add people from the browser', now: snippet.addsPeople ? 'on' : 'off' },
    ],
    retention: [
      { label: 'Days to keep events', now: days(retention.eventDays) },
      { label: 'Days to keep page views', now: days(retention.pageViewDays) },
      { label: 'Days to keep captured emails', now: days(retention.capturedDays) },
      { label: 'Days to keep the request log', now: days(retention.requestDays ?? REQUEST_DAYS) },
      { label: 'Days to keep Idempotency-Key responses', now: days(retention.responseDays ?? RESPONSE_DAYS) },
    ],
  }
  return Object.entries(fields).flatMap(([key, field]) => (changed.includes(key) ? field : []))
}

const readText = (form: FormInput): AppSettingsText => ({
  name: form.text('app'),
  home: form.text('home'),
  domains: form.text('domains'),
  timezone: form.text('timezone'),
  locale: form.text('locale'),
  snippetHosts: form.text('snippetHosts'),
  addsPeople: form.text('addsPeople') !== '',
  ...readRetentionText(form.text),
})
