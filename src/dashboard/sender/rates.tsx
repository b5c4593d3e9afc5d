/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { readBrake, readBrakeText, type BrakeText } from '../../accounts/sender-settings.ts'
import { BRAKE_DAYS, readRates } from '../../deliveries/brake.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { RATE_DAYS, RatesPage } from './rates-page.tsx'
import { readSenderFacts, saveSettings } from './sender.tsx'
import type { Refused } from './sender-frame.tsx'

/** How many emails bounced or were reported as spam, and the brake. */
export const senderRatesRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/rates', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showRates(deps, request, viewer)),
    )
    .post('/apps/:app/sender/rates', onForm(deps, { role: 'owner' }, saveBrake), { parse: 'none' })
    .post('/apps/:app/sender/rates/release', onForm(deps, { role: 'owner' }, releaseBrake), { parse: 'none' })

type Shown = Refused<BrakeText> & { status?: number }

async function showRates(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, ...refused }: Shown = {},
): Promise<Response> {
  const { store, clock } = deps
  const { id: appId } = viewer.app
  const now = clock.now()
  const [facts, week, month, releasedAt] = await Promise.all([
    readSenderFacts(deps, viewer),
    readRates(store, appId, BRAKE_DAYS, now),
    readRates(store, appId, RATE_DAYS, now),
    store.findBrakeRelease(appId),
  ])
  return pageAnswer(request, status, <RatesPage {...{ facts, refused, week, month, releasedAt, now }} />)
}

function saveBrake(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Response | Promise<Response> {
  const text = readBrakeText(form.text)
  const basedOn = form.text('basedOn')
  const show = (shown: Shown) => showRates(deps, request, viewer, { text, basedOn, ...shown })
  const reading = readBrake(text)
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { settings } = reading
  const done = () => doneAnswer(deps, viewer, 'sender/rates', 'brake_saved')
  return saveSettings(deps, viewer, { form: 'brake', settings, basedOn, show, done })
}

async function releaseBrake(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const outcome = await deps.store.releaseBrake({
    appId: viewer.app.id,
    actor: viewer.member.id,
    at: deps.clock.now(),
  })
  if (!('refusal' in outcome)) return doneAnswer(deps, viewer, 'sender/rates', 'brake_released')
  const { status, message } = REFUSALS[outcome.refusal]
  return showRates(deps, request, viewer, { status, notice: message })
}
