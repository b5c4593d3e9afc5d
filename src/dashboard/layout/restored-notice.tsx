/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import { formatCount } from '../../core/count.ts'
import { DAY_MS } from '../../core/clock.ts'
import { RESTORED } from '../../store/delivery-states.ts'
import type { RestoreFacts } from '../../store/restored.ts'
import { Notice } from '../ui/notice.tsx'
import { Moment } from '../ui/time.tsx'
import { pathOf } from './frame.tsx'

import type { Viewer } from './viewer.ts'

const SHOWN_MS = 14 * DAY_MS

type NoticeProps = { viewer: Viewer; restore: RestoreFacts | null }

/** For owners, in the first weeks of a restored copy. Its counts are about all accounts. */
export function RestoredNotice({ viewer: { app, member, isOperator, now }, restore }: NoticeProps) {
  if (restore === null || Math.abs(now - restore.at) > SHOWN_MS || !hasRole(member.role, 'owner')) return null
  const { at, paused, ended } = restore
  const deliveries = pathOf(app.publicId, 'deliveries')
  return (
    <Notice kind="caution">
      This copy was restored from a backup on <Moment at={at} />.{' '}
      {isOperator
        ? `${countOf(paused, 'live message was', 'live messages were')} paused, and ${countOf(ended, 'waiting email was', 'waiting emails were')} stopped, because the old server may have sent ${ended === 1 ? 'it' : 'them'}. `
        : 'Live messages were paused, and waiting emails were stopped, because the old server may have sent them. '}
      Check <a href={`${deliveries}?state=skipped&reason=${RESTORED}`}>the emails that were waiting</a> and{' '}
      <a href={`${deliveries}?state=unknown`}>those that were being sent</a>, then make{' '}
      <a href={pathOf(app.publicId, 'messages')}>the messages</a> live again.
    </Notice>
  )
}

const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? `1 ${one}` : `${formatCount(count)} ${many}`
