/** @jsxImportSource preact */
import { Fragment, type ComponentChildren } from 'preact'
import { hasRole } from '../../accounts/members.ts'
import { proposeSender, SENDER_PROBLEMS } from '../../accounts/senders.ts'
import { describeInvalidEmail, readEmail } from '../../core/email.ts'
import { publicId } from '../../core/ids.ts'
import { nameLanguage } from '../../core/languages.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { type LackedLinks, type LiveCheck, type LiveProblem, TOO_LARGE } from '../../messages/message-checks.ts'
import { NOT_A_DATE } from '../../messages/data-checks.ts'
import { describeUntried, type Tried } from '../../messages/tried.ts'
import type { FieldError } from '../../core/refusals.ts'
import { pathOf } from '../layout/frame.tsx'
import { describeLostUrl } from '../../people/unsubscribe.ts'
import { PUBLIC_ADDRESS } from '../layout/mail-notices.tsx'
import { IS_PROBLEM } from '../../monitoring/mail-state.ts'
import { EDITOR, type Sending } from './editor-props.ts'
import { type Fields, textOf } from './message-field-names.ts'
import { categoryOf } from './message-form.ts'
import { listGroups } from './sentence-words.ts'
import type { TestedEmail } from './tested-emails.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Icon, type IconName } from '../ui/icon.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText, Ticked } from '../ui/text.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Replaced by islands/message.ts after a check. */
export const CHECKLIST = 'checklist'

/** Replaced with it. */
export const OPEN_CHECKS = 'open-checks'

type State = 'done' | 'open' | 'caution' | 'wrong'

/**
 * One line of the list. `problems` block going live, `warnings` are emails that won't be sent. `link`: to the fix.
 * `host`: a domain to allow.
 */
export type CheckLine = {
  name: string
  state: State
  says: ComponentChildren
  problems: LiveProblem[]
  warnings: FieldError[]
  link?: { label: string; page: 'sender' | 'sender/server' | 'settings' | 'docs'; query?: string }
  host?: string
  /** for the dialog, if `says` is shorter */
  inFull?: ComponentChildren
}

type Checked = {
  fields: Fields
  errors?: FieldError[]
  check: LiveCheck | null
  sending: Sending
  tested: TestedEmail | null
  /** why the trigger may be misspelled, or triggers nothing yet */
  triggerNote: string | null
  /** null: not saved yet */
  message: MessageRow | null
}

const isSame = (a: FieldError, b: FieldError): boolean => a.field === b.field && a.message === b.message
const isOfSender = ({ field, code }: FieldError): boolean =>
  SENDER_PROBLEMS.some((one) => one === code) || /^mail\.(from|replyTo)/.test(field)
const isOfSize = ({ code }: FieldError): boolean => code === TOO_LARGE
const isOfValues = ({ code }: FieldError): boolean => code === 'missing_value'
export const isOfText = ({ field }: FieldError): boolean => field.startsWith('mail.')

/** Checks the form's input: what is left to do before the message can go live. */
export function listChecks({
  fields,
  errors = [],
  check,
  sending,
  tested,
  triggerNote,
  message,
}: Checked): CheckLine[] {
  const { problems = [], warnings = [], tried = null } = check ?? {}
  const all = [...problems, ...errors.filter((error) => !problems.some((problem) => isSame(problem, error)))]
  const sender = all.filter(isOfSender)
  const values = all.filter((one) => !isOfSender(one) && isOfValues(one))
  const text = all.filter((one) => !isOfSender(one) && !isOfValues(one) && isOfText(one))
  const named = all.filter(({ field }) => field === 'name')
  const others = all.filter((one) => !isOfSender(one) && !isOfText(one) && !named.includes(one))
  const unfit = listUnfit(check)
  const missing = findMissing(fields)
  return [
    ...(named.length > 0 ? [lineOf('Name', named, '')] : []),
    ...(others.length > 0 ? [lineOf('Trigger and rules', others, '')] : []),
    ...(triggerNote === null ? [] : [noteLine('Trigger', triggerNote)]),
    ...(unfit.length === 0 ? [] : [lineOfData(unfit)]),
    lineOfSender(sender),
    ...listSending(categoryOf(fields) === 'transactional' ? { ...sending, lostUrl: null } : sending, message),
    lineOfValues(
      values,
      warnings.filter((one) => isOfText(one) && !isOfSize(one)),
      tried,
    ),
    text.length > 0 || missing === null
      ? lineOfEmail(text, warnings.filter(isOfSize))
      : { ...lineOf('Email', [], missing), state: 'open' },
    ...(check?.lacked ? [lineOfLinks(check.lacked)] : []),
    lineOfTest(tested),
  ]
}

/** " (2)": lines that are not done. */
export function countOpen(lines: CheckLine[]): string {
  const open = lines.filter(({ state }) => state !== 'done').length
  return open === 0 ? '' : ` (${open})`
}

function lineOfEmail(problems: LiveProblem[], warnings: FieldError[]): CheckLine {
  const line = lineOf('Email', problems, warnings.length > 0 ? '' : 'Renders without errors.')
  return problems.length > 0 || warnings.length === 0 ? line : { ...line, state: 'caution', warnings }
}

/** The address field is on the next line, so no link is needed. */
const lineOfSender = (problems: LiveProblem[]): CheckLine => {
  const line = lineOf('Sender', problems, 'A sender address is set.')
  return problems.some(lacksSender)
    ? { ...line, says: 'No address yet.', link: { label: 'Open Sender', page: 'sender' } }
    : line
}

export const lacksSender = ({ code }: FieldError): boolean => code === 'no_sender'

/** Up to this many links are named. */
const NAMED_LINKS = 2

function lineOfLinks({ refused, host, isMadeUp }: LackedLinks): CheckLine {
  if (isMadeUp) {
    const says = "The app has no domain yet, so emails can't link to the URL of an event."
    return { ...lineOf('Links', [], says), state: 'caution', link: { label: 'Add a domain', page: 'settings' } }
  }
  const more = refused.length > NAMED_LINKS ? ` and ${refused.length - NAMED_LINKS} more` : ''
  const says = (
    <>
      The email doesn't link to{' '}
      {refused.slice(0, NAMED_LINKS).map((link, index) => (
        <Fragment key={link}>
          {index > 0 && ', '}
          <SentText most={120}>{link}</SentText>
        </Fragment>
      ))}
      {more}
      {host === null ? (
        '. Links with event values must be https:// addresses on a domain of this app. Write other links in full, such as https://example.com.'
      ) : (
        <NotAllowed host={host} />
      )}
    </>
  )
  return {
    ...lineOf('Links', [], says),
    state: 'caution',
    ...(host === null ? { link: { label: 'Show the domains', page: 'settings' } } : { host }),
  }
}

const NotAllowed = ({ host }: { host: string }) => (
  <>
    , because <SentText most={120}>{host}</SentText> is not a domain of this app.
  </>
)

/** The missing parts of an unfinished email. */
export function findMissing(fields: Fields): string | null {
  const [subject, ...texts] = ['mail.subject', 'mail.body', 'mail.html'].map((name) => textOf(fields, name))
  const body = texts.join('')
  if (subject === '') return body === '' ? 'Add a subject and text.' : 'Add a subject.'
  return body === '' ? 'Add text.' : null
}

/** So that the page links back to the message. */
const backQuery = (message: MessageRow | null): string =>
  message === null ? '' : `?message=${publicId('msg', message.id)}`

const CAPTURED = 'Not set up. Emails are captured, not sent.'

/** Settings of the server; listed only if they need attention. */
const listSending = ({ isCapturing, lostUrl }: Sending, message: MessageRow | null): CheckLine[] => [
  ...(isCapturing
    ? [
        {
          ...lineOf('Mail server', [], CAPTURED),
          state: 'caution' as const,
          inFull: `${CAPTURED} They count towards “How often”, and you can send them from the outbox later.`,
          link: { label: 'Set up a mail server', page: 'sender/server' as const, query: backQuery(message) },
        },
      ]
    : []),
  ...(lostUrl === null
    ? []
    : [
        {
          ...lineOf('Public address', [], describeLostUrl(lostUrl)),
          // captured emails reach nobody yet
          state: IS_PROBLEM.lostUrl && !isCapturing ? ('wrong' as const) : ('caution' as const),
          link: { label: 'How to set it', page: 'docs' as const },
        },
      ]),
]

/** What the app's data lacks for the trigger and the rules. */
const listUnfit = (check: LiveCheck | null): FieldError[] => (check?.warnings ?? []).filter((one) => !isOfText(one))

const lineOfData = (unfit: FieldError[]): CheckLine => ({
  ...noteLine(
    'Data',
    <a href={`#${DATA_NOTES}`}>
      {unfit.length === 1 ? '1 warning below the trigger' : `${unfit.length} warnings below the trigger`}
    </a>,
  ),
  inFull: <Ticked>{unfit.map(({ message }) => message).join(' ')}</Ticked>,
})

/** Below the sentence; replaced by islands/message.ts after a check. */
export const DATA_NOTES = 'data-notes'

/** `datedPath`: to the people with a value in the field of the trigger's date. */
type Notes = Pick<Checked, 'check' | 'fields'> & { datedPath: string }

/** In full, each with a link to its part of the sentence. */
export function DataNotes({ check, fields, datedPath }: Notes) {
  const unfit = listUnfit(check)
  return unfit.length === 0 ? null : (
    <Notice kind="caution">
      {unfit.map(({ field, message, code }) => (
        <p key={field + message}>
          <a href={`#${encodeURIComponent(field)}`}>{labelOf(field, fields)}</a>: <Ticked>{message}</Ticked>
          {code === NOT_A_DATE && (
            <>
              {' '}
              <a href={datedPath}>Show people with this field</a>
            </>
          )}
        </p>
      ))}
    </Notice>
  )
}

const noteLine = (name: string, note: ComponentChildren): CheckLine => ({ ...lineOf(name, [], note), state: 'caution' })

function lineOfTest(tested: TestedEmail | null): CheckLine {
  if (tested === null) return { ...lineOf('Test', [], "This text hasn't been tested yet."), state: 'open' }
  return tested.isCaptured
    ? { ...lineOf('Test', [], 'Captured, not sent.'), state: 'caution' }
    : lineOf('Test', [], `Sent to ${tested.to}.`)
}

function lineOfValues(problems: LiveProblem[], warnings: FieldError[], tried: Tried | null): CheckLine {
  const line = { ...lineOf('Values', problems, tried === null ? '' : describeTried(tried)), warnings }
  if (tried && tried.tried < tried.of) return { ...line, says: describeTried(tried) }
  if (problems.length > 0) return line
  if (tried === null) return { ...line, state: 'open', says: 'Checked once the other problems are fixed.' }
  const reason = describeUntried(tried)
  return reason === null ? line : { ...line, state: 'open', says: reason }
}

const lineOf = (name: string, problems: LiveProblem[], done: ComponentChildren): CheckLine => ({
  name,
  state: problems.length > 0 ? 'wrong' : 'done',
  says: problems.length > 0 ? '' : done,
  problems,
  warnings: [],
})

function describeTried(tried: Tried): string {
  if (tried.of === 0 && tried.what === 'calls' && tried.usesValues) return 'Checked with each API request.'
  if (tried.of === 0) return 'The email uses no values.'
  if (tried.tried === tried.of && tried.of === 1)
    return `The only ${tried.what === 'events' ? 'event' : 'person'} so far has all values.`
  return tried.tried < tried.of
    ? `Checked ${tried.tried} of the last ${tried.of} ${tried.what}. Checking the rest would take too long.`
    : `No values are missing ${tried.what === 'events' ? 'in' : 'for'} the last ${tried.of} ${tried.what}.`
}

/** While it is shown, islands/message.ts disables the button. */
const REFUSES = 'refuses'

/** For the dialog: the problems, or else what is left to do. */
export function LiveChecks({ lines, viewer }: Pick<ListProps, 'lines' | 'viewer'>) {
  const wrong = lines.flatMap(({ name, problems: [problem] }) => (problem ? [{ name, problem }] : []))
  const left = lines.filter(({ state, problems }) => state !== 'done' && problems.length === 0)
  return (
    <>
      {wrong.length > 0 && (
        <p class={REFUSES}>
          Fix first:{' '}
          {wrong.map(({ name, problem }, index) => (
            <Fragment key={name}>
              {index > 0 && ', '}
              <a href={hrefOf(problem, viewer)}>{name}</a>
            </Fragment>
          ))}
          .
        </p>
      )}
      {left.length > 0 && <p>These don't stop you from going live:</p>}
      {left.length > 0 && (
        <CheckLines lines={left.map((line) => ({ ...line, says: line.inFull ?? line.says }))} viewer={viewer} />
      )}
      {wrong.length + left.length === 0 && <p>All checks passed.</p>}
    </>
  )
}

const ICONS: Record<State, IconName> = { done: 'check', open: 'circle', caution: 'warning', wrong: 'warning' }
const WORDS: Record<State, string> = { done: 'Done: ', open: 'To do: ', caution: 'Note: ', wrong: 'Problem: ' }

/** `fields`: the form's input. */
type ListProps = { viewer: Viewer; isEditor: boolean; isLive: boolean; fields: Fields; lines: CheckLine[] }

/** Without a sender address, nothing else matters yet: what is not wrong is folded. */
export function Checklist(props: ListProps) {
  const { lines } = props
  const isFirst = lines.some(({ problems }) => problems.some(lacksSender))
  const isFolded = ({ state }: CheckLine): boolean => isFirst && state !== 'wrong'
  const folded = lines.filter(isFolded)
  return (
    <>
      <CheckLines {...props} lines={lines.filter((line) => !isFolded(line))} problems={props} />
      {folded.length > 0 && (
        <details class="more" id="more-checks">
          <summary>{folded.length === 1 ? '1 more check' : `${folded.length} more checks`}</summary>
          <CheckLines {...props} lines={folded} problems={props} />
        </details>
      )}
    </>
  )
}

type LinesProps = Pick<ListProps, 'lines' | 'viewer'> & { problems?: Omit<ListProps, 'lines'> }

const CheckLines = ({ lines, viewer, problems }: LinesProps) => (
  <ul class="checks">
    {lines.map((line) => (
      <li key={line.name} class={line.state}>
        <Icon name={ICONS[line.state]} />
        <div>
          <span class="unseen">{WORDS[line.state]}</span>
          <b>{line.name}</b> <span class="hint">{line.says}</span>
          {problems?.isLive === false && line.state === 'wrong' && line.problems.length === 0 && (
            <span class="hint"> You can go live anyway.</span>
          )}
          {line.link && (
            <>
              {' '}
              <a
                href={
                  line.link.page === 'docs'
                    ? PUBLIC_ADDRESS
                    : pathOf(viewer.app.publicId, line.link.page) + (line.link.query ?? '')
                }
              >
                {line.link.label}
              </a>
            </>
          )}
          {line.host !== undefined && <AllowHost viewer={viewer} host={line.host} />}
          {problems && <ProblemList {...problems} problems={line.problems} />}
          {problems && <ProblemList {...problems} problems={line.warnings} />}
        </div>
      </li>
    ))}
  </ul>
)

/** The value names the domain. */
export const ALLOW_HOST = 'allowHost'

/** For owners; others see where the domains are. */
const AllowHost = ({ viewer, host }: { viewer: Viewer; host: string }) =>
  hasRole(viewer.member.role, 'owner') ? (
    <p>
      <Button name="do" value={`${ALLOW_HOST} ${host}`} form={EDITOR}>
        {`Allow ${host}`}
      </Button>
    </p>
  ) : (
    <>
      {' '}
      <a href={pathOf(viewer.app.publicId, 'settings')}>Show the domains</a>
    </>
  )

type ProblemsProps = Omit<ListProps, 'lines'> & { problems: LiveProblem[] }

const ProblemList = ({ problems, viewer, isEditor, fields }: ProblemsProps) =>
  problems.length === 0 ? null : (
    <ul class="problems">
      {problems.map((problem) => (
        <li key={problem.field + problem.message}>
          {!lacksSender(problem) && (
            <a href={hrefOf(problem, viewer)}>
              <Named field={problem.field} fields={fields}>
                {problem.message}
              </Named>
            </a>
          )}
          {isEditor && <Fix problem={problem} viewer={viewer} fields={fields} />}
        </li>
      ))}
    </ul>
  )

export const hrefOf = ({ field, code }: FieldError, { app }: Viewer): string =>
  code === 'no_sender' ? pathOf(app.publicId, 'sender') : `#${encodeURIComponent(field)}`

/** The value names the field and the text to replace. */
export const FIX = 'fix'

type FixProps = Pick<ListProps, 'viewer' | 'fields'> & { problem: LiveProblem }

function Fix({ problem: { field, code, replace }, viewer, fields }: FixProps) {
  if (replace) {
    return (
      <Button name="do" value={`${FIX} ${field} ${replace.from}`} form={EDITOR}>
        {describeFix(replace)}
      </Button>
    )
  }
  if (code === 'no_sender')
    return hasRole(viewer.member.role, 'owner') ? <SenderFields viewer={viewer} fields={fields} /> : null
  if (!SENDER_PROBLEMS.some((one) => one === code)) return null
  const page = code === 'sender_unverified' ? 'sender/domain' : 'sender'
  return <ButtonLink href={pathOf(viewer.app.publicId, page)}>Open Sender</ButtonLink>
}

/** Field and button of an address for the app. */
export const NEW_SENDER = 'newSender'
export const describeWrongSender = (text: string): string =>
  describeInvalidEmail(text, 'Enter one email address, such as hello@example.com.')

/** So that the field stays marked when islands/message.ts checks again. */
const SENDER_TRIED = 'newSenderTried'

const isSenderTried = (fields: Fields): boolean => fields.do === NEW_SENDER || textOf(fields, SENDER_TRIED) !== ''

/** By the name of the field, as the problems of the message. */
export const senderFaults = (fields: Fields): Record<string, string> => {
  const sender = textOf(fields, NEW_SENDER)
  return isSenderTried(fields) && !readEmail(sender) ? { [NEW_SENDER]: describeWrongSender(sender) } : {}
}

function SenderFields({ viewer, fields }: Omit<FixProps, 'problem'>) {
  return (
    <div class="test">
      {isSenderTried(fields) && <input type="hidden" name={SENDER_TRIED} value="yes" />}
      <Field
        name={NEW_SENDER}
        label="Send emails from"
        value={fields[NEW_SENDER] ?? proposeSender(viewer.app)}
        error={senderFaults(fields)[NEW_SENDER]}
        kind="email"
        autocomplete="off"
      />
      <Button name="do" value={NEW_SENDER} form={EDITOR}>
        Use this address
      </Button>
    </div>
  )
}

function describeFix({ by }: { by: string }): string {
  const [, variable = '', fallback] = /\{\{ (\S+)(?: \| default: (.+))? \}\}/.exec(by) ?? []
  const name = variable.replace(/^(event|contact)\./, '')
  if (by.startsWith('{%')) return `Leave it out if there is no ${name}`
  if (fallback === undefined) return `Use ${variable} instead`
  return `Use ${fallback === 'app.homeUrl' ? 'the home page' : fallback} if there is no ${name}`
}

/** A message with the label of its field. */
export const Named = ({ field, fields, children }: { field: string; fields: Fields; children: string }) => {
  const label = labelOf(field, fields)
  return <Ticked>{label === undefined ? children : `${label}: ${children}`}</Ticked>
}

/** By the start of the schema path. The first that fits counts. */
const LABELS: [path: string, label: string][] = [
  ['name', 'Name'],
  ['trigger', 'Trigger'],
  ['wait', 'Wait'],
  ['again.collect', 'Collect for (minutes)'],
  ['again', 'How often'],
  ['goal', 'Goal'],
  ['holdback', 'Hold back (%)'],
  ['mail.subject', 'Subject'],
  ['mail.preheader', 'Preview text'],
  ['mail.body', 'Text'],
  ['mail.html', 'HTML'],
  ['mail.fromName', 'Sender name'],
  ['mail.fromEmail', 'Sender address'],
  ['mail.replyTo', 'Replies go to'],
  ['mail.category', 'Category'],
  ['mail.variants', 'Other languages'],
]

/** Rules are numbered as the sentence shows them. */
function labelOf(field: string, fields: Fields): string | undefined {
  const [, rule] = /^onlyIf\[(\d+)\]/.exec(field) ?? []
  if (rule !== undefined) return `Rule ${listGroups(fields).findIndex((rows) => rows.includes(Number(rule))) + 1}`
  const [, language = '', part = ''] = /^mail\.variants\.([\w-]+)\.(\w+)$/.exec(field) ?? []
  if (language !== '') return `${labelOf(`mail.${part}`, fields)} in ${nameLanguage(language)}`
  return LABELS.find(([path]) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))?.[1]
}

/** The first error of each field. */
export const faultsOf = (problems: FieldError[]): Record<string, string> =>
  Object.fromEntries(problems.toReversed().map(({ field, message }) => [field, message]))
