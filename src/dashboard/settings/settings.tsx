/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  type AppSettingsText,
  readAppSettings,
  saveAppSettings,
  writeAppSettings,
} from '../../accounts/app-settings.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { readSnippetSettings } from '../../visits/snippet-settings.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { SettingsPage } from './settings-page.tsx'

export const settingsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/settings', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const input = writeAppSettings(viewer.app, await readSnippetSettings(deps, viewer.app))
        return pageAnswer(request, 200, <SettingsPage viewer={viewer} input={input} />)
      }),
    )
    .post(
      '/apps/:app/settings',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner' }, (form, viewer) =>
          saveSettings(deps, request, form, viewer),
        ),
      { parse: 'none' },
    )

async function saveSettings(deps: PageDependencies, request: Request, form: Form, viewer: Viewer): Promise<Response> {
  const input = readText(form)
  const reading = readAppSettings(input)
  if ('errors' in reading)
    return pageAnswer(request, 400, <SettingsPage viewer={viewer} input={input} errors={reading.errors} />)
  const outcome = await saveAppSettings(deps, viewer.app, { ...reading, actor: viewer.member.id })
  if (!('refusal' in outcome))
    return redirectAnswer(pathOf(viewer.app.publicId, 'settings'), [flashCookie(deps.baseUrl, 'settings_saved')])
  const { status, message } = REFUSALS[outcome.refusal]
  return pageAnswer(request, status, <SettingsPage viewer={viewer} input={input} notice={message} />)
}

const readText = (form: Form): AppSettingsText => ({
  name: form.text('app'),
  home: form.text('home'),
  domains: form.text('domains'),
  timezone: form.text('timezone'),
  locale: form.text('locale'),
  snippetHosts: form.text('snippetHosts'),
  addsPeople: form.text('addsPeople') !== '',
})
