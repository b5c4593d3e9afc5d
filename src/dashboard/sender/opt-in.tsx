/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type OptInForm, readOptIn, readOptInForm, textOf } from '../../accounts/opt-in.ts'
import { makeRequestSample } from '../../mail/samples.ts'
import { checkRequest } from '../../messages/message-checks.ts'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { OptInPage } from './opt-in-page.tsx'
import { readSenderFacts, saveSettings } from './sender.tsx'
import { describeFrom, type Refused } from './sender-frame.tsx'

/** Double opt-in. */
export const senderOptInRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/opt-in', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showOptIn(deps, request, viewer)),
    )
    .get('/apps/:app/sender/opt-in/sample', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const mail = await previewSaved(deps, viewer)
        return 'html' in mail ? mailAnswer(request, mail.html) : problemAnswer(request, 'page_unknown')
      }),
    )
    .post('/apps/:app/sender/opt-in', onForm(deps, { role: 'owner' }, saveOptIn), { parse: 'none' })

async function previewSaved({ store, mailer }: PageDependencies, { app }: Viewer) {
  const settings = await store.mailSettings(app.id)
  return mailer.preview(makeRequestSample(app, settings, textOf(settings.optIn)))
}

type Shown = Refused<OptInForm> & { status?: number }

async function showOptIn(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, ...refused }: Shown = {},
): Promise<Response> {
  const [facts, mail] = await Promise.all([readSenderFacts(deps, viewer), previewSaved(deps, viewer)])
  const from = describeFrom(facts.mailRoute.from)
  const sample = 'html' in mail ? { mail, from } : null
  return pageAnswer(request, status, <OptInPage {...{ facts, refused, sample }} />)
}

async function saveOptIn(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = readOptInForm(form.text)
  const basedOn = form.text('basedOn')
  const show = (shown: Shown) => showOptIn(deps, request, viewer, { text, basedOn, ...shown })
  const reading = readOptIn(text)
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { settings } = reading
  const { store, templates } = deps
  const errors = await checkRequest({ store, templates, app: viewer.app }, textOf(settings.optIn))
  if (errors.length > 0) return show({ status: 400, errors })
  return saveSettings(deps, viewer, {
    form: 'optIn',
    settings,
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender/opt-in', 'opt_in_saved'),
  })
}
