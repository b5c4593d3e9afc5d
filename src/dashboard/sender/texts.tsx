/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  countTexts,
  listLanguages,
  listMixed,
  readTexts,
  readTextsForm,
  removeLanguage,
  type TextsForm,
  writeTexts,
} from '../../accounts/app-texts.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { checkLanguage, languagePath, readLanguage, type ShownLanguage } from './languages.tsx'
import { readSenderFacts, saveSettings, type Shown } from './sender.tsx'
import { TextsPage } from './texts-page.tsx'

/** Texts for the readers of an app's emails. */
export const textsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/texts', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const { texts } = await deps.store.mailSettings(viewer.app.id)
        return showTexts(deps, request, viewer, readLanguage(request, listLanguages(texts)))
      }),
    )
    .post('/apps/:app/sender/texts', onForm(deps, { role: 'owner' }, saveTexts), { parse: 'none' })

async function showTexts(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, language, wrong, ...refused }: Shown<TextsForm> & ShownLanguage,
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const { texts: stored } = facts.settings
  const text = refused.text ?? writeTexts(stored, language)
  const languages = listLanguages(stored)
  const counted = await readCounted(deps, viewer)
  const counts = countTexts(stored, language, counted)
  const mixed = language === '' ? listMixed(stored, counted, await deps.store.listMailLanguages(viewer.app.id)) : []
  const page = <TextsPage {...{ facts, refused, text, language, languages, counts, mixed, wrong }} />
  return pageAnswer(request, status, page)
}

const readCounted = async ({ store }: PageDependencies, { app }: Viewer) => ({
  hasTopics: (await store.listTopics(app.id)).length > 0,
  appLocale: app.locale,
})

async function saveTexts(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const { texts: stored } = await deps.store.mailSettings(viewer.app.id)
  const { language, wrong } = checkLanguage(form.text('language'), listLanguages(stored))
  const basedOn = form.text('basedOn')
  const text = readTextsForm(form.text)
  const show = (shown: Shown<TextsForm>) =>
    showTexts(deps, request, viewer, { text, basedOn, language, wrong, ...shown })
  if (wrong !== null) return showTexts(deps, request, viewer, { status: 400, language, wrong })
  const isRemoved = form.text('do') === 'remove'
  const reading = isRemoved
    ? { settings: { texts: removeLanguage(stored, language) } }
    : readTexts(text, { stored, language })
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { settings } = reading
  return saveSettings(deps, viewer, {
    form: 'texts',
    settings,
    basedOn,
    show,
    done: () => {
      if (isRemoved || language === '') return doneAnswer(deps, viewer, 'sender/texts', 'texts_saved')
      const path = languagePath(pathOf(viewer.app.publicId, 'sender/texts'), language)
      return redirectAnswer(path, [flashCookie(deps.baseUrl, 'texts_saved')])
    },
  })
}
