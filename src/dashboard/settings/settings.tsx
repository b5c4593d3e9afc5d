/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  type AppSettingsText,
  readAppSettings,
  saveAppSettings,
  writeAppSettings,
} from '../../accounts/app-settings.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { readSnippetSettings } from '../../visits/snippet-settings.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { SettingsPage } from './settings-page.tsx'

export const settingsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/settings', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const input = writeAppSettings(viewer.app, await readSnippetSettings(deps, viewer.app))
        return pageAnswer(request, 200, <SettingsPage viewer={viewer} input={input} />)
      }),
    )
    .post('/apps/:app/settings', onForm(deps, { role: 'owner' }, saveSettings), { parse: 'none' })

async function saveSettings(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const input = readText(form)
  const refuse = (status: number, errors: FieldError[], notice?: string) =>
    pageAnswer(request, status, <SettingsPage {...{ viewer, input, errors, notice }} />)
  const reading = readAppSettings(input)
  if ('errors' in reading) return refuse(400, reading.errors)
  const outcome = await saveAppSettings(deps, viewer.app, { ...reading, actor: viewer.member.id })
  if (!('refusal' in outcome)) return doneAnswer(deps, viewer, 'settings', 'settings_saved')
  return refuse(REFUSALS[outcome.refusal].status, [], REFUSALS[outcome.refusal].message)
}

const readText = (form: FormInput): AppSettingsText => ({
  name: form.text('app'),
  home: form.text('home'),
  domains: form.text('domains'),
  timezone: form.text('timezone'),
  locale: form.text('locale'),
  snippetHosts: form.text('snippetHosts'),
  addsPeople: form.text('addsPeople') !== '',
})
