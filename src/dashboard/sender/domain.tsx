/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type DkimText, listKeyNames } from '../../accounts/dkim.ts'
import type { Limit } from '../../accounts/limits.ts'
import { findLastCheck } from '../../accounts/dns-checks.ts'
import { readReceivedMail } from '../../accounts/received-mail.ts'
import type { CheckedSender } from '../../accounts/sender-checks.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { CHECKS, DomainPage } from './domain-page.tsx'
import { readCheckedSenders } from '../../monitoring/attention.ts'
import { readSenderFacts } from './sender.tsx'
import { isOwner, type Refused } from './sender-frame.tsx'

/** DNS records of the sender's domain. They are looked up on request, and again after a day. */
export const senderDomainRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/domain', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showDomain(deps, request, viewer)),
    )
    .post('/apps/:app/sender/check', onForm(deps, { role: 'editor' }, checkRecords), { parse: 'none' })
    .post('/apps/:app/sender/domains', onForm(deps, { role: 'editor' }, checkDomains), { parse: 'none' })
    .post('/apps/:app/sender/received', onForm(deps, { role: 'editor', mostBytes: SOURCE_BYTES }, checkReceived), {
      parse: 'none',
    })

/** Room for an email with pictures; only its headers are read. */
const SOURCE_BYTES = 1024 * 1024

/** More are not looked up at once. */
const MOST_DOMAINS = 20

/** The keys of more apps are not read. */
const MOST_OTHER_APPS = 50

/** Rate limit of DNS lookups per account. */
const DOMAIN_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

const isTooOften = async ({ limits }: PageDependencies, { account }: Viewer): Promise<boolean> =>
  (await limits.takeAlone(`domain-check:${account.id}`, DOMAIN_CHECKS)).allowed === 0

function refuseCheck(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { status, message } = REFUSALS.rate_limited
  return showDomain(deps, request, viewer, { status, notice: message })
}

async function checkDomains(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who) {
  if (await isTooOften(deps, viewer)) return refuseCheck(deps, request, viewer)
  return showDomain(deps, request, viewer, { asksDns: true })
}

async function checkRecords(deps: PageDependencies, request: Request, _: FormInput, { viewer }: Who) {
  if (await isTooOften(deps, viewer)) return refuseCheck(deps, request, viewer)
  await deps.mailer.dnsChecks.check(viewer.app, await listSenders(deps, viewer))
  return redirectAnswer(`${pathOf(viewer.app.publicId, 'sender/domain')}#${CHECKS}`)
}

async function listSenders(deps: PageDependencies, { app }: Viewer): Promise<CheckedSender[]> {
  const settings = await deps.store.mailSettings(app.id)
  return (await readCheckedSenders(deps, app, settings)).slice(0, MOST_DOMAINS)
}

/** Checks a received email, then looks up the records of its domain. */
async function checkReceived(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who) {
  const { store, clock, mailer } = deps
  if (await isTooOften(deps, viewer)) return refuseCheck(deps, request, viewer)
  const received = readReceivedMail(form.text('source'))
  const domains = (await listSenders(deps, viewer)).map(({ domain }) => domain)
  if (received === null || !domains.includes(received.domain)) {
    const message =
      received === null
        ? 'Paste the source of an email. It starts with the headers, one of which is “From:”.'
        : `This email comes from ${received.domain}. Paste one from ${new Intl.ListFormat('en', { type: 'disjunction' }).format(domains)}.`
    return showDomain(deps, request, viewer, { status: 400, errors: [{ field: 'source', code: 'invalid', message }] })
  }
  const { domain, ...seen } = received
  const saved = { appId: viewer.app.id, domain, seen: JSON.stringify(seen), seenAt: clock.now() }
  const outcome = await store.saveReceivedMail(saved)
  if ('refusal' in outcome) {
    const { status, message } = REFUSALS[outcome.refusal]
    return showDomain(deps, request, viewer, { status, notice: message })
  }
  const senders = (await listSenders(deps, viewer)).filter((one) => one.domain === domain)
  await mailer.dnsChecks.check(viewer.app, senders)
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
  const senders = facts.mailRoute.from === null ? [] : await listSenders(deps, viewer)
  const checked = await Promise.all(
    senders.map(async (sender) => {
      const last = await findLastCheck(deps.store, viewer.app.id, sender)
      const isChecking = deps.mailer.dnsChecks.refreshSeen(viewer.app, sender, last)
      return { sender, last, isChecking }
    }),
  )
  const otherKeys = isOwner(viewer) ? await listOtherKeys(deps, viewer) : []
  return pageAnswer(
    request,
    status,
    <DomainPage {...{ facts, refused, domains, checked, otherKeys, isChecked: asksDns }} />,
  )
}

/** DKIM keys of the account's other apps. */
async function listOtherKeys({ store }: PageDependencies, { account, app }: Viewer): Promise<DkimText[]> {
  const others = (await store.listApps(account.id)).filter(({ id }) => id !== app.id).slice(0, MOST_OTHER_APPS)
  const settings = await Promise.all(others.map(({ id }) => store.mailSettings(id)))
  return settings.flatMap(listKeyNames)
}
