/** @jsxImportSource preact */
import type { LiveCheck, LiveWarning } from '../../messages/message-checks.ts'
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
export const Findings = ({ appId, errors = [], check, isLive, isEditor }: FindingsProps) => (
  <>
    {errors.length > 0 && (
      <Notice kind="error">
        <p>Nothing was saved. Fix these first:</p>
        <ProblemList problems={errors} appId={appId} />
      </Notice>
    )}
    {check && errors.length === 0 && check.problems.length > 0 && (
      <Notice kind="caution">
        <p>{isLive ? 'Fix this before you save:' : 'Fix this before you go live:'}</p>
        <ProblemList problems={check.problems} appId={appId} />
      </Notice>
    )}
    {check && check.warnings.length > 0 && (
      <Notice kind="caution">
        <p>Some emails won't be sent:</p>
        <Warnings warnings={check.warnings} isEditor={isEditor} />
      </Notice>
    )}
    {check && check.tried.tried < check.tried.of && (
      <p class="hint">{`Checked on ${check.tried.tried} of the last ${check.tried.of} ${check.tried.what}. The rest would take too long.`}</p>
    )}
  </>
)

const ProblemList = ({ problems, appId }: { problems: FieldError[]; appId: string }) => (
  <ul class="problems">
    {problems.map(({ field, code, message }) => (
      <li key={field + message}>
        <a href={code === 'no_sender' ? pathOf(appId, 'sender') : `#${encodeURIComponent(field)}`}>
          <Ticked>{message}</Ticked>
        </a>
      </li>
    ))}
  </ul>
)

/** The value names the field and the text to replace. */
export const FALLBACK = 'fallback'

const Warnings = ({ warnings, isEditor }: { warnings: LiveWarning[]; isEditor: boolean }) => (
  <ul class="problems">
    {warnings.map(({ field, message, replace }) => (
      <li key={field + message}>
        <a href={`#${encodeURIComponent(field)}`}>
          <Ticked>{message}</Ticked>
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

/** The first error of each field. */
export const faultsOf = (problems: FieldError[]): Record<string, string> =>
  Object.fromEntries(problems.toReversed().map(({ field, message }) => [field, message]))
