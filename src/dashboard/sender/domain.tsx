/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { DkimText } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { findLastCheck } from '../../accounts/dns-checks.ts'
import { findCheckedSender } from '../../accounts/sender-checks.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { CHECKS, DomainPage } from './domain-page.tsx'
import { readSenderFacts } from './sender.tsx'
import type { Refused } from './sender-frame.tsx'

/** DNS records of the sender's domain. They are looked up on request, and again when that is a day ago. */
export const senderDomainRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/domain', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showDomain(deps, request, viewer)),
    )
    .post('/apps/:app/sender/check', onForm(deps, { role: 'editor' }, checkRecords), { parse: 'none' })
    .post('/apps/:app/sender/domains', onForm(deps, { role: 'editor' }, checkDomains), { parse: 'none' })

/** Rate limit of DNS lookups per account. */
const DOMAIN_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

const isTooOften = ({ limits }: PageDependencies, { account }: Viewer): boolean =>
  limits.take(`domain-check:${account.id}`, DOMAIN_CHECKS).allowed === 0

function refuseCheck(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { status, message } = REFUSALS.rate_limited
  return showDomain(deps, request, viewer, { status, notice: message })
}

async function checkDomains(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who) {
  if (isTooOften(deps, viewer)) return refuseCheck(deps, request, viewer)
  return showDomain(deps, request, viewer, { asksDns: true })
}

async function checkRecords(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who) {
  if (isTooOften(deps, viewer)) return refuseCheck(deps, request, viewer)
  const { store, mailer } = deps
  const settings = await store.mailSettings(viewer.app.id)
  const sender = findCheckedSender(mailer.findMailRoute({ settings, app: viewer.app }), settings)
  if (sender !== null) await mailer.dnsChecks.check(viewer.app.id, sender)
  return redirectAnswer(`${pathOf(viewer.app.publicId, 'sender/domain')}#${CHECKS}`)
}

type Shown = Refused<DkimText> & {
  status?: number
  /** looks up the records of unverified domains */
  asksDns?: boolean
}

export async function showDomain(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, asksDns = false, ...refused }: Shown = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const domains = await deps.mailer.senders.listDomains(viewer.app, facts.settings, { asksDns })
  const sender = findCheckedSender(facts.mailRoute, facts.settings)
  const last = sender && (await findLastCheck(deps.store, viewer.app.id, sender))
  const isChecking = sender && last ? deps.mailer.dnsChecks.refreshSeen(viewer.app.id, sender, last) : false
  return pageAnswer(
    request,
    status,
    <DomainPage {...{ facts, refused, domains, last, isChecking, isChecked: asksDns }} />,
  )
}
