/** @jsxImportSource preact */
import { RECOVERY_CODES, type TwoStepRow } from '../../accounts/two-step.ts'
import { pathOf } from '../layout/frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { ExactTime } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** With this few codes left, the page suggests new ones. */
const FEW_CODES = 3

type SectionProps = { viewer: Viewer; twoStep: TwoStepRow | null; requiredBy: string[]; error?: string }

export const TwoStepSection = ({ viewer, twoStep, requiredBy, error }: SectionProps) => {
  const turnedOnAt = twoStep?.turnedOnAt ?? null
  return (
    <section id="two-step">
      <div class="with-badge">
        <h2>Two-step sign-in</h2>
        {turnedOnAt !== null ? <Badge mood="good">On</Badge> : <Badge>{twoStep ? 'Setup not finished' : 'Off'}</Badge>}
      </div>
      {error && <Notice kind="error">{error}</Notice>}
      {requiredBy.length > 0 && <p class="hint">Required by {listNames(requiredBy)}.</p>}
      {twoStep && turnedOnAt !== null ? (
        <OnSection viewer={viewer} twoStep={twoStep} since={turnedOnAt} isRequired={requiredBy.length > 0} />
      ) : (
        <OffSection viewer={viewer} isBegun={twoStep !== null} />
      )}
    </section>
  )
}

const listNames = (names: string[]): string =>
  new Intl.ListFormat('en', { type: 'conjunction' }).format(names.map((name) => `the account ${name}`))

const actionOf = ({ app }: Viewer, step = ''): string => `${pathOf(app.publicId, 'you')}/two-step${step}`

const OffSection = ({ viewer, isBegun }: { viewer: Viewer; isBegun: boolean }) => (
  <>
    <p class="hint">
      {isBegun
        ? "Until you finish, signing in doesn't need a code. The setup expires after an hour."
        : 'Once it is set up, signing in also needs a code from an authenticator app.'}
    </p>
    <ActionForm action={actionOf(viewer)}>{isBegun ? 'Continue setup' : 'Set up'}</ActionForm>
  </>
)

type OnProps = { viewer: Viewer; twoStep: TwoStepRow; since: number; isRequired: boolean }

const OnSection = ({ viewer, twoStep, since, isRequired }: OnProps) => (
  <>
    <p class="hint">
      On since <ExactTime at={since} />. Signing in needs a code from your authenticator app.{' '}
      {describeCodesLeft(twoStep.codesLeft)}
    </p>
    {twoStep.codesLeft <= FEW_CODES && (
      <Notice kind="caution">Create new recovery codes while you can still sign in without them.</Notice>
    )}
    <div class="buttons">
      <ActionForm action={actionOf(viewer, '/codes')} fields={{ replaces: String(twoStep.codesMadeAt) }}>
        Create new recovery codes
      </ActionForm>
      {!isRequired && <ActionForm action={actionOf(viewer, '/off')}>Turn off</ActionForm>}
    </div>
  </>
)

function describeCodesLeft(count: number): string {
  if (count === RECOVERY_CODES) return `All ${count} recovery codes are unused.`
  if (count === 0) return 'No recovery codes are left.'
  return `${count} of ${RECOVERY_CODES} recovery codes ${count === 1 ? 'is' : 'are'} left.`
}
