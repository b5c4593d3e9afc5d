/** Each thing that needs attention, with the page that solves it. */
import { type AttentionFacts, type AttentionItem, findAttention } from '../../monitoring/attention.ts'
import { type DeliveriesView, deliveriesPath } from '../deliveries/deliveries-view.ts'
import { RESTORED } from '../../store/delivery-states.ts'
import { pathOf } from '../layout/frame.tsx'
import { checkPath, PUBLIC_ADDRESS } from '../layout/mail-notices.tsx'
import { OWN_OR_NO_APP, requestsPath } from '../requests/requests-view.ts'

/** `refusedSince`: a day such as 2026-05-03. */
export type LinkFacts = {
  appId: string
  /** who may change Sender */
  isOwner: boolean
  refusedSince: string
  failedSince: Pick<DeliveriesView, 'from' | 'isUtc'>
}

export type LinkedItem = AttentionItem & { link: { label: string; href: string } }

export const listAttention = (facts: AttentionFacts & LinkFacts): LinkedItem[] =>
  findAttention(facts).map((item) => ({ ...item, link: linkOf(item, facts) }))

function linkOf(
  { about, unfit, keyId = '' }: AttentionItem,
  { appId, isOwner, refusedSince, failedSince }: LinkFacts,
): LinkedItem['link'] {
  const ofOwner = (label: string): string => (isOwner ? label : 'Open Sender')
  const server = pathOf(appId, 'sender/server')
  const domain = pathOf(appId, 'sender/domain')
  const failed = { ...failedSince, isLead: true } as const
  const links: Record<AttentionItem['about'], () => LinkedItem['link']> = {
    sender: () => ({ label: ofOwner('Set a sender address'), href: pathOf(appId, 'sender') }),
    rates: () => ({ label: 'Show the rates', href: pathOf(appId, 'sender/rates') }),
    unreadable: () => ({ label: ofOwner('Set up the mail server again'), href: server }),
    server: () => ({ label: ofOwner('Set up a mail server'), href: server }),
    outage: () => ({ label: 'Check the connection', href: checkPath(appId) }),
    pause: () => ({ label: 'Check the connection', href: checkPath(appId) }),
    stuck: () => ({ label: 'Check the connection', href: checkPath(appId) }),
    captured: () => ({ label: 'Open the outbox', href: pathOf(appId, 'outbox') }),
    domains: () => ({ label: 'Show the record to add', href: `${domain}#domains` }),
    unchecked: () => ({ label: 'Check the records', href: `${domain}#checks` }),
    records: () => ({ label: 'Show the records to add', href: `${domain}#checks` }),
    failed: () => ({ label: 'See why', href: deliveriesPath(appId, { state: 'failed', ...failed }) }),
    unfit: () => ({ label: 'See who', href: deliveriesPath(appId, { state: 'skipped', ...unfit, ...failed }) }),
    unknown: () => ({ label: 'Review', href: `${pathOf(appId, 'deliveries')}?state=unknown` }),
    restored: () => ({ label: 'Review', href: deliveriesPath(appId, { state: 'skipped', reason: RESTORED }) }),
    refused: () => ({
      label: 'Show requests',
      href: requestsPath(appId, { app: OWN_OR_NO_APP, from: refusedSince }),
    }),
    refusedNow: () => ({ label: 'Show requests', href: pathOf(appId, 'requests') }),
    revoked: () => ({
      label: 'Show requests',
      href: requestsPath(appId, { key: keyId, app: OWN_OR_NO_APP, from: refusedSince }),
    }),
    links: () => ({ label: 'How to set the public address', href: PUBLIC_ADDRESS }),
  }
  return links[about]()
}
