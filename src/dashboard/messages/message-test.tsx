/** @jsxImportSource preact */
import type { EditorProps, TestOutcome } from './editor-props.ts'
import type { Viewer } from '../layout/viewer.ts'
import { describeFailure } from '../../deliveries/describe-reason.ts'
import { describeTemplateFault } from '../../messages/template-faults.ts'
import { pathOf } from '../layout/frame.tsx'
import { ForOwner } from '../layout/mail-notices.tsx'
import { Button } from '../ui/button.tsx'
import { hrefOf, Named } from './message-checklist.tsx'
import { Select } from '../ui/choice.tsx'
import { Notice } from '../ui/notice.tsx'
import { Ticked } from '../ui/text.tsx'

/** Only members can get test emails. */
export const TestFields = ({ viewer, members, fields, path, test }: EditorProps) => (
  <div id="test">
    <div class="test">
      {members.length > 1 ? (
        <Select
          name="to"
          label="Send the test to"
          value={fields.to ?? viewer.member.email}
          options={members.map((email) => ({ value: email, label: email }))}
        />
      ) : (
        <input type="hidden" name="to" value={members[0] ?? viewer.member.email} />
      )}
      <Button name="do" value="test" formaction={`${path}#checks`}>
        Send a test
      </Button>
    </div>
    <div role="status">{test && <TestResult viewer={viewer} fields={fields} test={test} />}</div>
  </div>
)

function TestResult({ viewer, fields, test }: Pick<EditorProps, 'viewer' | 'fields'> & { test: TestOutcome }) {
  if ('fault' in test) {
    return (
      <Notice kind="error">
        Nothing was sent.{' '}
        <a href={hrefOf(test.fault, viewer)}>
          <Named field={test.fault.field} fields={fields}>
            {test.fault.message}
          </Named>
        </a>
      </Notice>
    )
  }
  return <SentTest viewer={viewer} {...test} />
}

type SentProps = { viewer: Viewer } & Exclude<TestOutcome, { fault: unknown }>

/** What the mail server answered. */
export function SentTest({ viewer, to, whose, result }: SentProps) {
  if (!('is' in result)) {
    return (
      <Notice kind="error">
        Nothing was sent. <Ticked>{describeTemplateFault(result)}</Ticked>
        {whose !== null && ` The values are from ${whose}.`}
      </Notice>
    )
  }
  if (result.is === 'sent') return <Notice kind="done">{`The mail server accepted the email to ${to}.`}</Notice>
  if ('reason' in result && result.reason === 'no_sender') {
    return (
      <Notice kind="error">
        Nothing was sent. The app has no sender address.{' '}
        <ForOwner viewer={viewer} page="sender" label="Set a sender address" verb="set one" />.
      </Notice>
    )
  }
  if ('reason' in result) {
    const why = result.detail ?? describeFailure(result, to)
    return result.is === 'unknown' ? (
      <Notice kind="caution">{`It's unknown whether ${to} got it. ${why}`}</Notice>
    ) : (
      <Notice kind="error">{`Nothing was sent. ${why}`}</Notice>
    )
  }
  return (
    <>
      <Notice kind="info">
        Captured, not sent: no mail server is set up. The preview shows what {to} would have received. Emails from live
        messages are captured in the <a href={pathOf(viewer.app.publicId, 'outbox')}>outbox</a>.{' '}
        <a href={pathOf(viewer.app.publicId, 'sender/server')}>Set up a mail server</a>.
      </Notice>
      <details>
        <summary>Source of the captured email</summary>
        <pre class="written-out" tabindex={0} role="region" aria-label="Source of the captured email">
          {result.raw}
        </pre>
      </details>
    </>
  )
}
