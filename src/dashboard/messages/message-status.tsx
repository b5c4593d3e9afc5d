/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { listChecks, LiveChecks } from './message-checklist.tsx'
import { Says } from './message-preview.tsx'
import { EDITOR, SAYS, type EditorProps } from './editor-props.ts'
import { creditActor } from '../../accounts/audit.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeFrom, describeMessage } from '../../messages/describe-message.ts'
import {
  describeFollower,
  type MessageCounts,
  type MessageRow,
  type MessageStatus,
  MOVE_WAITING,
  type Trigger,
} from '../../messages/messages.ts'
import { textOf } from './message-field-names.ts'
import { STATE_GROUPS, type StateGroup } from '../deliveries/delivery-labels.tsx'
import { Button } from '../ui/button.tsx'
import { Badge, type Mood } from '../ui/badge.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'

const STATUSES: Record<MessageStatus, { word: string; mood: Mood }> = {
  draft: { word: 'Draft', mood: 'quiet' },
  live: { word: 'Live', mood: 'good' },
  paused: { word: 'Paused', mood: 'caution' },
}

export const MessageBadge = ({ status }: { status: MessageStatus }) => (
  <Badge mood={STATUSES[status].mood}>{STATUSES[status].word}</Badge>
)

/** Sent, whatever happened afterwards. */
export const countSent = (counts: MessageCounts): number => countIn(counts, 'left')

/** Waiting for their time or for a limit. */
export const countWaiting = (counts: MessageCounts): number => countIn(counts, 'pending')

export const countIn = (counts: MessageCounts, group: StateGroup): number =>
  STATE_GROUPS[group].states.reduce((sum, state) => sum + counts[state], 0)

export function describeStatus(message: MessageRow | null, counts: MessageCounts | null) {
  if (!message || !counts) return 'Not saved yet. New messages are drafts and send nothing.'
  return (
    <span class="with-badge">
      <MessageBadge status={message.status} />
      {message.status === 'draft'
        ? 'It sends no emails yet.'
        : `Version ${message.version}. ${describeCounts(counts)}.${message.status === 'paused' && countWaiting(counts) > 0 ? ' Emails due while it is paused are skipped.' : ''}`}
    </span>
  )
}

function describeCounts(counts: MessageCounts): string {
  const [waiting, sent] = [countWaiting(counts), countSent(counts)]
  const text = `${waiting === 0 ? 'None' : formatCount(waiting)} waiting, ${sent === 0 ? 'none' : formatCount(sent)} sent`
  return counts.kept === 0 ? text : `${text}, ${formatCount(counts.kept)} captured in the outbox`
}

/** Save is first, so that Enter saves. islands/message.ts shows unsaved changes while they are typed. */
export function HeadActions({ message, ...rest }: EditorProps) {
  const isLive = message?.status === 'live'
  return (
    <>
      <div class="buttons">
        <span class="unsaved" id="unsaved" hidden={!rest.isUnsaved}>
          Unsaved changes
        </span>
        <Button
          kind={message && !isLive ? 'plain' : 'primary'}
          name="do"
          value="save"
          form={EDITOR}
          aria-keyshortcuts="Control+S Meta+S"
        >
          {message ? (rest.isConflict ? 'Overwrite' : 'Save') : 'Save as a draft'}
        </Button>
        {message && (isLive ? <PauseDialog counts={rest.counts} /> : <LiveDialog {...rest} message={message} />)}
      </div>
      <WaitingChoice {...rest} />
    </>
  )
}

/** If unchecked, waiting emails keep their version. */
function WaitingChoice({ counts, fields }: Pick<EditorProps, 'counts' | 'fields'>) {
  const waiting = counts ? countWaiting(counts) : 0
  if (waiting === 0) return null
  return (
    <label class="option waiting-choice">
      <input type="checkbox" name={MOVE_WAITING} form={EDITOR} checked={textOf(fields, MOVE_WAITING) !== ''} />
      {`Also use this version for the ${waiting === 1 ? 'waiting email' : `${formatCount(waiting)} waiting emails`}`}
    </label>
  )
}

const describeResumed = (waiting: number, trigger: Trigger): string => {
  if (waiting === 0) return describeFrom(trigger)
  return waiting === 1
    ? 'The waiting email is sent when due, if its rules still pass.'
    : `The ${formatCount(waiting)} waiting emails are sent when due, if their rules still pass.`
}

type LiveProps = Pick<
  EditorProps,
  'viewer' | 'counts' | 'fields' | 'sending' | 'errors' | 'check' | 'tested' | 'triggerNote' | 'perPersonDay'
> & { message: MessageRow }

/** Enabled without scripts, because unsaved changes may have fixed the problems. */
const LiveDialog = ({ viewer, message, counts, perPersonDay, ...checked }: LiveProps) => (
  <Dialog id="go-live" opener="Go live" kind="primary" title={`Go live with “${message.name}”?`}>
    <ul class="says" id={SAYS}>
      <Says lines={describeMessage(message.content)} />
    </ul>
    <div id={LIVE_CHECKS}>
      <LiveChecks lines={listChecks({ ...checked, message })} viewer={viewer} />
    </div>
    <p class="hint">
      {describeResumed(counts ? countWaiting(counts) : 0, message.content.trigger)} Unsaved changes are saved, too.
    </p>
    {perPersonDay !== null && message.content.mail.category !== 'transactional' && (
      <p class="hint">
        {`A person gets at most ${perPersonDay} lifecycle ${perPersonDay === 1 ? 'email' : 'emails'} a day from this app. Further ones wait.`}
      </p>
    )}
    <div class="act">
      <Button kind="primary" name="do" value="live" form={EDITOR}>
        Go live
      </Button>
    </div>
  </Dialog>
)

/** islands/message.ts keeps it up to date. */
export const LIVE_CHECKS = 'go-live-checks'

const describePaused = (waiting: number): string => {
  if (waiting === 0) return 'Emails that come due before then are skipped.'
  return waiting === 1
    ? '1 email is waiting. It is skipped if it is due before then.'
    : `${formatCount(waiting)} emails are waiting. Those due before then are skipped.`
}

const PauseDialog = ({ counts }: { counts: MessageCounts | null }) => (
  <Dialog id="pause" opener="Pause" title="Pause this message?">
    <p>It sends no emails until it is live again. {describePaused(counts ? countWaiting(counts) : 0)}</p>
    <div class="act">
      <Button kind="primary" name="do" value="paused" form={EDITOR}>
        Pause
      </Button>
    </div>
  </Dialog>
)

type StatusProps = EditorProps & { message: MessageRow }

export function StatusSection({ message, isDeletable, followers, saved, viewer, now }: StatusProps) {
  const isEditor = hasRole(viewer.member.role, 'editor')
  return (
    <section class="editor-foot" aria-label="This message">
      {isEditor && (
        <div class="buttons">
          <Button name="do" value="copy" form={EDITOR}>
            Duplicate
          </Button>
          {message.status === 'paused' && (
            <Button name="do" value="draft" form={EDITOR}>
              Back to draft
            </Button>
          )}
          {isDeletable && <DeleteDialog message={message} />}
        </div>
      )}
      {saved && (
        <p class="hint">
          {`Version ${saved.version}, saved `}
          {saved.writer !== null && (
            <>
              <SentText most={60}>{creditActor(saved.writer)}</SentText>{' '}
            </>
          )}
          <Time at={saved.createdAt} now={now} />.
        </p>
      )}
      {isEditor && !isDeletable && <p class="hint">{describeUndeletable(message.status, followers)}</p>}
      {isEditor && (
        <p class="hint keys">
          <kbd>Ctrl S</kbd> or <kbd>⌘ S</kbd> saves. <kbd>Esc</kbd> closes the open part.
        </p>
      )}
    </section>
  )
}

const describeUndeletable = (status: MessageStatus, [follower]: readonly string[]): string =>
  status === 'live' || follower === undefined ? UNDELETABLE[status] : describeFollower(follower)

const UNDELETABLE: Record<MessageStatus, string> = {
  live: "A live message can't be deleted. Pause it instead.",
  paused: "It has deliveries, so it can't be deleted. It sends nothing while it is paused.",
  draft: "It has deliveries, so it can't be deleted. It sends nothing while it is a draft.",
}

/** Never live, so no personal data depends on it. */
const DeleteDialog = ({ message: { name, version } }: { message: MessageRow }) => (
  <Dialog id="delete" opener="Delete" kind="danger" title={`Delete “${name}”?`}>
    <p>
      {version === 1
        ? 'This deletes the email and its rules.'
        : `This deletes the email, its rules and all ${version} versions.`}{' '}
      This message has no deliveries.
    </p>
    <div class="act">
      <Button kind="danger" name="do" value="delete" form={EDITOR}>
        Delete this message
      </Button>
    </div>
  </Dialog>
)
