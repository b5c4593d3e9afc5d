/** @jsxImportSource preact */
import type { LiveCheck, LiveProblem } from '../../messages/message-checks.ts'
import type { FieldError } from '../../core/refusals.ts'
import { pathOf } from '../layout/frame.tsx'
import { EDITOR } from './editor-props.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Ticked } from '../ui/text.tsx'

/** Replaced by islands/message.ts after a check. */
export const FINDINGS = 'findings'

type FindingsProps = {
  appId: string
  /** errors of the submitted form, which was not saved */
  errors?: FieldError[]
  /** null if not checked */
  check: LiveCheck | null
  isLive: boolean
  isEditor: boolean
}

/** Errors that block saving or going live, and emails that would not be sent. */
export const Findings = ({ appId, errors = [], check, isLive, isEditor }: FindingsProps) => {
  const { problems = [], warnings = [], tried } = check ?? {}
  const found = errors.map((error) => problems.find((problem) => isSame(problem, error)) ?? error)
  const others = problems.filter((problem) => !errors.some((error) => isSame(problem, error)))
  return (
    <>
      {found.length > 0 && (
        <Notice kind="error">
          <p>Nothing was saved. Fix these first:</p>
          <ProblemList problems={found} appId={appId} isEditor={isEditor} />
        </Notice>
      )}
      {others.length > 0 && (
        <Notice kind="caution">
          <p>{isLive ? 'Fix this before you save:' : 'Fix this before you go live:'}</p>
          <ProblemList problems={others} appId={appId} isEditor={isEditor} />
        </Notice>
      )}
      {warnings.length > 0 && (
        <Notice kind="caution">
          <p>Some emails won't be sent:</p>
          <ProblemList problems={warnings} appId={appId} isEditor={isEditor} />
        </Notice>
      )}
      {tried && tried.tried < tried.of && (
        <p class="hint">{`Checked on ${tried.tried} of the last ${tried.of} ${tried.what}. The rest would take too long.`}</p>
      )}
    </>
  )
}

const isSame = (a: FieldError, b: FieldError): boolean => a.field === b.field && a.message === b.message

/** The value names the field and the text to replace. */
export const FALLBACK = 'fallback'

type ListProps = { problems: LiveProblem[]; appId: string; isEditor: boolean }

const ProblemList = ({ problems, appId, isEditor }: ListProps) => (
  <ul class="problems">
    {problems.map(({ field, code, message, replace }) => (
      <li key={field + message}>
        <a href={code === 'no_sender' ? pathOf(appId, 'sender') : `#${encodeURIComponent(field)}`}>
          <Named field={field}>{message}</Named>
        </a>
        {replace && isEditor && (
          <Button name="do" value={`${FALLBACK} ${field} ${replace.from}`} form={EDITOR}>
            Add this fallback
          </Button>
        )}
      </li>
    ))}
  </ul>
)

/** A message with the label of its field. */
export const Named = ({ field, children }: { field: string; children: string }) => {
  const label = labelOf(field)
  return <Ticked>{label === undefined ? children : `${label}: ${children}`}</Ticked>
}

/** By the start of the schema path. The first that fits counts. */
const LABELS: [path: string, label: string][] = [
  ['name', 'Name'],
  ['trigger', 'What starts it'],
  ['wait', 'How long it waits'],
  ['again.collect', 'Collect for (minutes)'],
  ['again', 'How often'],
  ['mail.subject', 'Subject'],
  ['mail.preheader', 'First line in the inbox'],
  ['mail.body', 'Text'],
  ['mail.fromName', "Sender's name"],
  ['mail.fromEmail', "Sender's address"],
  ['mail.replyTo', 'Replies go to'],
  ['mail.category', 'Kind of email'],
]

function labelOf(field: string): string | undefined {
  const [, rule] = /^onlyIf\[(\d+)\]/.exec(field) ?? []
  if (rule !== undefined) return `Rule ${Number(rule) + 1}`
  return LABELS.find(([path]) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))?.[1]
}

/** The first error of each field. */
export const faultsOf = (problems: FieldError[]): Record<string, string> =>
  Object.fromEntries(problems.toReversed().map(({ field, message }) => [field, message]))
