/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { makeRecoveryCodes, startTwoStep, turnOnTwoStep } from '../../accounts/two-step.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { takeForm } from '../layout/require-member.tsx'
import { type PageDependencies } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { RecoveryCodesPage, TwoStepDonePage, TwoStepSetupPage } from './two-step-pages.tsx'
import { showYou, type Who } from './you.tsx'

/** Any role may submit these forms; they affect only the member. */
const OWN = { role: 'viewer', page: 'you' } as const

export const twoStepRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post(
      '/apps/:app/you/two-step',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, ...OWN, confirm: { to: 'set up two-step sign-in', isAlways: true } },
          (_, viewer, signedIn) => start(deps, request, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/on',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, ...OWN }, (form, viewer, signedIn) =>
          turnOn(deps, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/codes',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, ...OWN, confirm: { to: 'make new recovery codes', isAlways: true } },
          (form, viewer, signedIn) => renewCodes(deps, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/off',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, ...OWN, confirm: { to: 'turn two-step sign-in off', isAlways: true } },
          (_, viewer, signedIn) => turnOff(deps, request, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )

/** Repeated submissions get an explanation; an expired setup starts over. */
function refuse(
  deps: PageDependencies,
  request: Request,
  who: Who,
  refusal: RefusalCode,
): Response | Promise<Response> {
  if (refusal === 'already_done') return showDone(deps, request, who)
  if (refusal === 'not_found') return showYou(deps, request, who, { twoStep: FORGOTTEN }, 409)
  const { status, message } = REFUSALS[refusal]
  return showYou(deps, request, who, { twoStep: message }, status)
}

/** Usually a reload of the recovery code page. */
async function showDone(
  { store }: Pick<PageDependencies, 'store'>,
  request: Request,
  { viewer, signedIn }: Who,
): Promise<Response> {
  const row = await store.findTwoStep(signedIn.member.id)
  if (!row || row.turnedOnAt === null) return problemAnswer(request, 'done_before')
  return pageAnswer(request, REFUSALS.already_done.status, <TwoStepDonePage viewer={viewer} twoStep={row} />)
}

const NOT_SHOWN = 'This is not the code that your app shows now. If it is, set the clock of your phone right.'
const FORGOTTEN =
  'The set-up is forgotten: it was left for more than an hour, or your password was changed. Begin again.'

async function start(deps: PageDependencies, request: Request, who: Who): Promise<Response> {
  const row = await startTwoStep(deps, who.signedIn.member.id)
  if ('refusal' in row) return refuse(deps, request, who, row.refusal)
  return pageAnswer(request, 200, <TwoStepSetupPage viewer={who.viewer} secret={row.secret} />)
}

async function turnOn(deps: PageDependencies, request: Request, form: Form, who: Who): Promise<Response> {
  const outcome = await turnOnTwoStep(deps, who.signedIn, form.text('code'))
  if ('codes' in outcome) {
    deps.signInNotes.notify(who.signedIn.member, 'two_step_on')
    return pageAnswer(request, 200, <RecoveryCodesPage viewer={who.viewer} codes={outcome.codes} isFirst />)
  }
  const row = outcome.refusal === 'wrong_code' && (await deps.store.findTwoStep(who.signedIn.member.id))
  if (!row) return refuse(deps, request, who, outcome.refusal)
  const { status } = REFUSALS.wrong_code
  return pageAnswer(request, status, <TwoStepSetupPage viewer={who.viewer} secret={row.secret} error={NOT_SHOWN} />)
}

async function renewCodes(deps: PageDependencies, request: Request, form: Form, who: Who): Promise<Response> {
  const { codes, codeHashes } = makeRecoveryCodes()
  const own = { memberId: who.signedIn.member.id, at: deps.clock.now() }
  const replaces = Number(form.text('replaces'))
  const outcome = await deps.store.renewRecoveryCodes({ ...own, codeHashes, replaces })
  if ('refusal' in outcome) return refuse(deps, request, who, outcome.refusal)
  deps.signInNotes.notify(who.signedIn.member, 'recovery_codes_made')
  return pageAnswer(request, 200, <RecoveryCodesPage viewer={who.viewer} codes={codes} isFirst={false} />)
}

async function turnOff(deps: PageDependencies, request: Request, who: Who): Promise<Response> {
  const outcome = await deps.store.turnOffTwoStep({ memberId: who.signedIn.member.id, at: deps.clock.now() })
  if ('refusal' in outcome) return refuse(deps, request, who, outcome.refusal)
  deps.signInNotes.notify(who.signedIn.member, 'two_step_off')
  return redirectAnswer(pathOf(who.viewer.app.publicId, 'you'), [flashCookie(deps.baseUrl, 'two_step_off')])
}
