/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  listLanguages,
  type OptInForm,
  type OptInText,
  readOptIn,
  readOptInForm,
  removeOptInLanguage,
  textOf,
} from '../../accounts/opt-in.ts'
import { makeRequestSample } from '../../mail/samples.ts'
import { checkRequest } from '../../messages/message-checks.ts'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { checkLanguage, languagePath, readLanguage, type ShownLanguage } from './languages.tsx'
import { OptInPage } from './opt-in-page.tsx'
import { readSenderFacts, saveSettings, type Shown } from './sender.tsx'
import { describeFrom } from './sender-frame.tsx'

/** Double opt-in. */
export const senderOptInRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/opt-in', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const { optIn } = await deps.store.mailSettings(viewer.app.id)
        return showOptIn(deps, request, viewer, readLanguage(request, listLanguages(optIn)))
      }),
    )
    .get('/apps/:app/sender/opt-in/sample', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const { optIn } = await deps.store.mailSettings(viewer.app.id)
        const mail = await previewSaved(deps, viewer, readLanguage(request, listLanguages(optIn)))
        return 'html' in mail ? mailAnswer(request, mail.html) : problemAnswer(request, 'page_unknown')
      }),
    )
    .post('/apps/:app/sender/opt-in', onForm(deps, { role: 'owner' }, saveOptIn), { parse: 'none' })

async function previewSaved(
  { store, mailer }: PageDependencies,
  { app }: Viewer,
  { language: shown }: Pick<ShownLanguage, 'language'>,
) {
  const settings = await store.mailSettings(app.id)
  const language = shown === '' ? null : shown
  return mailer.preview(
    makeRequestSample(app, settings, { text: textOf(settings.optIn, language, settings.texts?.lang), language }),
  )
}

async function showOptIn(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, language, wrong, ...refused }: Shown<OptInForm> & ShownLanguage,
): Promise<Response> {
  const [facts, mail] = await Promise.all([readSenderFacts(deps, viewer), previewSaved(deps, viewer, { language })])
  const from = describeFrom(facts.mailRoute.from)
  const sample = 'html' in mail ? { mail, from } : null
  const languages = listLanguages(facts.settings.optIn)
  return pageAnswer(request, status, <OptInPage {...{ facts, refused, sample, language, languages, wrong }} />)
}

async function saveOptIn(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const { optIn: stored, texts } = await deps.store.mailSettings(viewer.app.id)
  const { language, wrong } = checkLanguage(form.text('language'), listLanguages(stored))
  if (wrong !== null) return showOptIn(deps, request, viewer, { status: 400, language, wrong })
  const basedOn = form.text('basedOn')
  const isRemoved = form.text('do') === 'remove' && stored !== null
  const text = readOptInForm(form.text)
  const show = (shown: Shown<OptInForm>) =>
    showOptIn(deps, request, viewer, { text, basedOn, language, wrong, ...shown })
  const reading = isRemoved
    ? { settings: { optIn: removeOptInLanguage(stored, language) } }
    : readOptIn(text, { stored, language, ownLang: texts?.lang })
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { settings } = reading
  const errors = isRemoved
    ? []
    : await checkText(deps, viewer, textOf(settings.optIn, language === '' ? null : language, texts?.lang))
  if (errors.length > 0) return show({ status: 400, errors })
  return saveSettings(deps, viewer, {
    form: 'optIn',
    settings,
    basedOn,
    show,
    done: () => {
      const path = languagePath(pathOf(viewer.app.publicId, 'sender/opt-in'), isRemoved ? '' : language)
      return redirectAnswer(path, [flashCookie(deps.baseUrl, 'opt_in_saved')])
    },
  })
}

const checkText = ({ store, templates }: PageDependencies, { app }: Viewer, text: OptInText) =>
  checkRequest({ store, templates, app }, text)
