/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS } from '../../core/refusals.ts'
import { readSummaryToken, SUMMARY_PATH } from '../../monitoring/weekly-summary.ts'
import type { Store } from '../../store/store.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { Layout } from '../layout/layout.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { doneAnswer, onForm, refuseRole } from '../layout/require-member.tsx'
import type { PageDependencies, Who } from '../layout/viewer.ts'
import { ActionForm } from '../ui/button.tsx'

type Dependencies = { store: Store; unsubscribeKey: string }

/**
 * Behind the link in the email (RFC 8058). GET changes nothing, because mail scanners open links; POST needs no sign-in.
 */
export const summaryLinkRoutes = (deps: Dependencies) =>
  new Elysia()
    .get(`${SUMMARY_PATH}/:token`, ({ request, params: { token } }) => showLink(deps, request, token))
    .post(`${SUMMARY_PATH}/:token`, ({ request, params: { token } }) => change(deps, request, token, false), {
      parse: 'none',
    })
    .post(`${SUMMARY_PATH}/:token/on`, ({ request, params: { token } }) => change(deps, request, token, true), {
      parse: 'none',
    })

async function showLink({ store, unsubscribeKey }: Dependencies, request: Request, token: string): Promise<Response> {
  const membershipId = readSummaryToken(unsubscribeKey, token)
  const found = membershipId === null ? null : await store.findWeeklySummary(membershipId)
  if (found === null) return problemAnswer(request, 'page_unknown')
  return pageAnswer(request, 200, <LinkPage path={`${SUMMARY_PATH}/${token}`} isOn={found.isOn} />)
}

async function change(deps: Dependencies, request: Request, token: string, isOn: boolean): Promise<Response> {
  const membershipId = readSummaryToken(deps.unsubscribeKey, token)
  if (membershipId === null) return problemAnswer(request, 'page_unknown')
  const outcome = await deps.store.setWeeklySummary({ membershipId, isOn })
  if (!('refusal' in outcome)) return showLink(deps, request, token)
  if (outcome.refusal === 'not_found') return problemAnswer(request, 'page_unknown')
  const { status, message } = REFUSALS[outcome.refusal]
  return pageAnswer(request, status, <Layout title="Not saved" lead={message} isNarrow />)
}

const LinkPage = ({ path, isOn }: { path: string; isOn: boolean }) =>
  isOn ? (
    <Layout title="Turn off the weekly summary?" lead="You get it on Mondays. Alerts are still sent." isNarrow>
      <ActionForm action={path} kind="primary">
        Turn off the weekly summary
      </ActionForm>
    </Layout>
  ) : (
    <Layout title="The weekly summary is off" lead="You won't get it any more. Alerts are still sent." isNarrow>
      <ActionForm action={`${path}/on`}>Turn it on again</ActionForm>
    </Layout>
  )

export const summaryRoutes = (deps: PageDependencies) =>
  new Elysia().post('/apps/:app/you/summary', onForm(deps, { role: 'viewer' }, switchSummary), { parse: 'none' })

/** Owners get it, for each account of their own. */
async function switchSummary(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const own = await findOwner(deps.store, viewer)
  if (own === null) return refuseRole(deps, request, viewer)
  const isOn = form.text('on') === 'yes'
  const outcome = await deps.store.setWeeklySummary({ membershipId: own.id, isOn })
  if ('refusal' in outcome) return problemAnswer(request, 'page_unknown')
  return doneAnswer(deps, viewer, 'you', isOn ? 'summary_on' : 'summary_off')
}

export const findOwner = async (store: Store, { account, member }: Who['viewer']) =>
  (await store.listOwners(account.id)).find(({ memberId }) => memberId === member.id) ?? null
