/** @jsxImportSource preact */
import { EDITOR, type EditorProps } from './editor-props.ts'
import { hasRole } from '../../accounts/members.ts'
import { Frame } from '../layout/frame.tsx'
import { textOf } from './message-field-names.ts'
import { MailSection, SenderSection } from './message-mail.tsx'
import { NameOptions, PreviewSection } from './message-preview.tsx'
import { Findings, FINDINGS } from './message-problems.tsx'
import { SimulationSection } from './message-simulation.tsx'
import { RulesSection } from './message-rules.tsx'
import { HeadActions, describeStatus, StatusSection } from './message-status.tsx'
import { TestSection } from './message-test.tsx'
import { AgainSection, type Ask, EVENT_NAMES, PROPERTY_NAMES, TriggerSection, WaitSection } from './message-when.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form, FormNotices } from '../ui/form.tsx'

/** One form, so that no button loses input. */
export function EditorPage(props: EditorProps) {
  const { viewer, message, errors, check, notice } = props
  const isEditor = hasRole(viewer.member.role, 'editor')
  return (
    <Frame
      viewer={viewer}
      page="messages"
      title={message?.name ?? 'New message'}
      state={describeStatus(message, props.counts)}
      action={isEditor ? <HeadActions {...props} /> : undefined}
      islands={['message']}
    >
      <FormNotices notice={notice} locked={!isEditor && 'Only owners and editors of the account change messages.'} />
      <div id={FINDINGS}>
        <Findings
          appId={viewer.app.publicId}
          errors={errors}
          check={check}
          isLive={message?.status === 'live'}
          isEditor={isEditor}
        />
      </div>
      <EditorForm {...props} />
      {message && <StatusSection {...props} message={message} />}
    </Frame>
  )
}

const EditorForm = (props: EditorProps) => (
  <Form id={EDITOR} action={props.path} hidden={{ basedOn: textOf(props.fields, 'basedOn') }} errors={props.errors}>
    <div class="editor">
      <MessageFields {...props} />
      <aside>
        <PreviewSection
          {...props.shown}
          viewer={props.viewer}
          path={props.path}
          view={textOf(props.fields, 'view')}
          now={props.now}
        />
        <TestSection {...props} />
      </aside>
    </div>
    <SimulationSection {...props} />
  </Form>
)

function makeAsk({ viewer, fields, errors, check }: EditorProps): Ask {
  // the form knows the errors of its submission
  const problems = errors.length > 0 ? errors : (check?.problems ?? [])
  const isLocked = !hasRole(viewer.member.role, 'editor')
  return (name) => ({
    name,
    value: fields[name] ?? '',
    error: problems.find(({ field }) => field === name)?.message,
    isLocked,
    autocomplete: 'off',
  })
}

function MessageFields(props: EditorProps) {
  const { message, fields, path, timezone, eventNames, shown } = props
  const ask = makeAsk(props)
  return (
    <div class="message-fields">
      <Field {...ask('name')} label="Name" hint="Only for your team. Recipients don't see it." />
      <TriggerSection ask={ask} path={path} fields={fields} />
      <WaitSection ask={ask} timezone={timezone} />
      <RulesSection ask={ask} path={path} fields={fields} />
      <AgainSection ask={ask} />
      <MailSection ask={ask} properties={shown.preview.properties} />
      <SenderSection ask={ask} appId={props.viewer.app.publicId} senders={props.senders} />
      {!ask('name').isLocked && (
        <Button name="do" value="save">
          {message ? 'Save' : 'Save as a draft'}
        </Button>
      )}
      <datalist id={EVENT_NAMES}>
        <NameOptions names={eventNames} />
      </datalist>
      <datalist id={PROPERTY_NAMES}>
        <NameOptions names={shown.preview.properties} />
      </datalist>
    </div>
  )
}
