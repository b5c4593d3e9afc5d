/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { makeRecoveryCodes, startTwoStep, turnOnTwoStep } from '../../accounts/two-step.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm } from '../layout/require-member.tsx'
import type { PageDependencies, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { problemAnswer } from '../layout/problems.tsx'
import { RecoveryCodesPage, TwoStepDonePage, TwoStepSetupPage } from './two-step-pages.tsx'
import { showYou } from './you.tsx'

/** Any role may submit these forms; they affect only the member. */
const changeOf = (to: string, kind?: 'danger') =>
  ({ role: 'viewer', page: 'you', confirm: { to, kind, isAlways: true } }) as const

export const twoStepRoutes = (deps: PageDependencies) =>
  new Elysia()
    .post('/apps/:app/you/two-step', onForm(deps, changeOf('set up two-step sign-in'), start), { parse: 'none' })
    .post('/apps/:app/you/two-step/on', onForm(deps, { role: 'viewer' }, turnOn), { parse: 'none' })
    .post('/apps/:app/you/two-step/codes', onForm(deps, changeOf('create new recovery codes'), renewCodes), {
      parse: 'none',
    })
    .post('/apps/:app/you/two-step/off', onForm(deps, changeOf('turn off two-step sign-in', 'danger'), turnOff), {
      parse: 'none',
    })

/** Repeated submissions get an explanation; an expired setup starts over. */
function refuse(
  deps: PageDependencies,
  request: Request,
  who: Who,
  refusal: RefusalCode,
): Response | Promise<Response> {
  if (refusal === 'already_done') return showDone(deps, request, who)
  if (refusal === 'not_found') return showYou(deps, request, who, { status: 409, twoStepNotice: FORGOTTEN })
  const { status, message } = REFUSALS[refusal]
  return showYou(deps, request, who, { status, twoStepNotice: message })
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

const NOT_SHOWN = "This isn't the current code. If your app shows it, check your phone's clock."
const FORGOTTEN = 'The setup expired after an hour, or your password was changed. Start again.'

async function start(deps: PageDependencies, request: Request, _: FormInput, who: Who): Promise<Response> {
  const row = await startTwoStep(deps, who.signedIn.member.id)
  if ('refusal' in row) return refuse(deps, request, who, row.refusal)
  return pageAnswer(request, 200, <TwoStepSetupPage viewer={who.viewer} secret={row.secret} />)
}

async function turnOn(deps: PageDependencies, request: Request, form: FormInput, who: Who): Promise<Response> {
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

async function renewCodes(deps: PageDependencies, request: Request, form: FormInput, who: Who): Promise<Response> {
  const { codes, codeHashes } = makeRecoveryCodes()
  const own = { memberId: who.signedIn.member.id, at: deps.clock.now() }
  const replaces = Number(form.text('replaces'))
  const outcome = await deps.store.renewRecoveryCodes({ ...own, codeHashes, replaces })
  if ('refusal' in outcome) return refuse(deps, request, who, outcome.refusal)
  deps.signInNotes.notify(who.signedIn.member, 'recovery_codes_made')
  return pageAnswer(request, 200, <RecoveryCodesPage viewer={who.viewer} codes={codes} isFirst={false} />)
}

async function turnOff(deps: PageDependencies, request: Request, _: FormInput, who: Who): Promise<Response> {
  const outcome = await deps.store.turnOffTwoStep({ memberId: who.signedIn.member.id, at: deps.clock.now() })
  if ('refusal' in outcome) return refuse(deps, request, who, outcome.refusal)
  deps.signInNotes.notify(who.signedIn.member, 'two_step_off')
  return doneAnswer(deps, who.viewer, 'you', 'two_step_off')
}
