/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { makeRecoveryCodes, startTwoStep, turnOnTwoStep } from '../../accounts/two-step.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { takeForm } from '../layout/door.tsx'
import { type PageParts } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { RecoveryCodesPage, TwoStepDonePage, TwoStepSetupPage } from './two-step-pages.tsx'
import { showYou, type Who } from './you.tsx'

/** Any role may submit these forms; they affect only the member. */
const OWN = { role: 'viewer', page: 'you' } as const

export const twoStepRoutes = (parts: PageParts) =>
  new Elysia()
    .post(
      '/apps/:app/you/two-step',
      ({ request, params: { app } }) =>
        takeForm(
          parts,
          request,
          { appId: app, ...OWN, confirm: { to: 'set up two-step sign-in', isAlways: true } },
          (_, viewer, signedIn) => start(parts, request, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/on',
      ({ request, params: { app } }) =>
        takeForm(parts, request, { appId: app, ...OWN }, (form, viewer, signedIn) =>
          turnOn(parts, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/codes',
      ({ request, params: { app } }) =>
        takeForm(
          parts,
          request,
          { appId: app, ...OWN, confirm: { to: 'make new recovery codes', isAlways: true } },
          (form, viewer, signedIn) => renewCodes(parts, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/two-step/off',
      ({ request, params: { app } }) =>
        takeForm(
          parts,
          request,
          { appId: app, ...OWN, confirm: { to: 'turn two-step sign-in off', isAlways: true } },
          (_, viewer, signedIn) => turnOff(parts, request, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )

/** Repeated submissions get an explanation; an expired setup starts over. */
function refuse(parts: PageParts, request: Request, who: Who, refusal: RefusalCode): Response | Promise<Response> {
  if (refusal === 'already_done') return sayDone(parts, request, who)
  if (refusal === 'not_found') return showYou(parts, request, who, { twoStep: FORGOTTEN }, 409)
  const { status, message } = REFUSALS[refusal]
  return showYou(parts, request, who, { twoStep: message }, status)
}

/** Usually a reload of the recovery code page. */
async function sayDone({ store }: PageParts, request: Request, { viewer, signedIn }: Who): Promise<Response> {
  const row = await store.findTwoStep(signedIn.member.id)
  if (!row || row.turnedOnAt === null) return problemAnswer(request, 'done_before')
  return pageAnswer(request, REFUSALS.already_done.status, <TwoStepDonePage viewer={viewer} twoStep={row} />)
}

const NOT_SHOWN = 'This is not the code that your app shows now. If it is, set the clock of your phone right.'
const FORGOTTEN =
  'The set-up is forgotten: it was left for more than an hour, or your password was changed. Begin again.'

async function start(parts: PageParts, request: Request, who: Who): Promise<Response> {
  const row = await startTwoStep(parts, who.signedIn.member.id)
  if ('refusal' in row) return refuse(parts, request, who, row.refusal)
  return pageAnswer(request, 200, <TwoStepSetupPage viewer={who.viewer} secret={row.secret} />)
}

async function turnOn(parts: PageParts, request: Request, form: Form, who: Who): Promise<Response> {
  const outcome = await turnOnTwoStep(parts, who.signedIn, form.text('code'))
  if ('codes' in outcome) {
    parts.signInNotes.notify(who.signedIn.member, 'two_step_on')
    return pageAnswer(request, 200, <RecoveryCodesPage viewer={who.viewer} codes={outcome.codes} isFirst />)
  }
  const row = outcome.refusal === 'wrong_code' && (await parts.store.findTwoStep(who.signedIn.member.id))
  if (!row) return refuse(parts, request, who, outcome.refusal)
  const { status } = REFUSALS.wrong_code
  return pageAnswer(request, status, <TwoStepSetupPage viewer={who.viewer} secret={row.secret} error={NOT_SHOWN} />)
}

async function renewCodes(parts: PageParts, request: Request, form: Form, who: Who): Promise<Response> {
  const { codes, codeHashes } = makeRecoveryCodes()
  const own = { memberId: who.signedIn.member.id, at: parts.clock.now() }
  const replaces = Number(form.text('replaces'))
  const outcome = await parts.store.renewRecoveryCodes({ ...own, codeHashes, replaces })
  if ('refusal' in outcome) return refuse(parts, request, who, outcome.refusal)
  parts.signInNotes.notify(who.signedIn.member, 'recovery_codes_made')
  return pageAnswer(request, 200, <RecoveryCodesPage viewer={who.viewer} codes={codes} isFirst={false} />)
}

async function turnOff(parts: PageParts, request: Request, who: Who): Promise<Response> {
  const outcome = await parts.store.turnOffTwoStep({ memberId: who.signedIn.member.id, at: parts.clock.now() })
  if ('refusal' in outcome) return refuse(parts, request, who, outcome.refusal)
  parts.signInNotes.notify(who.signedIn.member, 'two_step_off')
  return redirectAnswer(pathOf(who.viewer.app.publicId, 'you'), [flashCookie(parts.baseUrl, 'two_step_off')])
}
