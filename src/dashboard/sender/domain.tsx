/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type DkimText, readDkimKey } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { checkSender } from '../../accounts/sender-checks.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { DomainPage } from './domain-page.tsx'
import { readSenderFacts } from './sender.tsx'
import type { Refused, SenderFacts } from './sender-frame.tsx'

/** DNS records of the sender's domain. They are looked up only on request. */
export const senderDomainRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/domain', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) =>
        new URL(request.url).searchParams.has('check')
          ? askDns(deps, request, viewer, { checksRecords: true })
          : showDomain(deps, request, viewer),
      ),
    )
    .post('/apps/:app/sender/domains', onForm(deps, { role: 'editor' }, checkDomains), { parse: 'none' })

const checkDomains = (deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who): Promise<Response> =>
  askDns(deps, request, viewer, { asksDns: true })

/** Rate limit of DNS lookups per account. */
const DOMAIN_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

async function askDns(deps: PageDependencies, request: Request, viewer: Viewer, asked: Shown): Promise<Response> {
  const { allowed } = deps.limits.take(`domain-check:${viewer.account.id}`, DOMAIN_CHECKS)
  if (allowed === 0) {
    const { status, message } = REFUSALS.rate_limited
    return showDomain(deps, request, viewer, { status, notice: message })
  }
  return showDomain(deps, request, viewer, asked)
}

type Shown = Refused<DkimText> & {
  status?: number
  /** looks up SPF, DKIM and DMARC */
  checksRecords?: boolean
  /** looks up the records of unverified domains */
  asksDns?: boolean
}

export async function showDomain(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, checksRecords = false, asksDns = false, ...refused }: Shown = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const domains = await deps.mailer.senders.listDomains(viewer.app, facts.settings, { asksDns })
  const checks = checksRecords ? await check(deps, facts) : null
  return pageAnswer(request, status, <DomainPage {...{ facts, refused, domains, checks, isChecked: asksDns }} />)
}

/** Empty without a sender. */
async function check({ resolveTxt }: Pick<PageDependencies, 'resolveTxt'>, { settings, mailRoute }: SenderFacts) {
  const { from, server } = mailRoute
  const domain = from?.address.split('@')[1]
  if (domain === undefined) return []
  return checkSender(resolveTxt, {
    domain,
    server: server?.replace(/:\d+$/, '') ?? null,
    dkim: readDkimKey(settings),
  })
}
