/** @jsxImportSource preact */
import { EDITOR, type EditorProps } from './editor-props.ts'
import { hasRole } from '../../accounts/members.ts'
import { Frame } from '../layout/frame.tsx'
import {
  type CheckLine,
  Checklist,
  CHECKLIST,
  DATA_NOTES,
  DataNotes,
  lacksSender,
  listChecks,
} from './message-checklist.tsx'
import { textOf } from './message-field-names.ts'
import { dateOf, listVariants } from './message-form.ts'
import { HtmlSection, LanguagesSection, MailSection, NameField, SenderSection } from './message-mail.tsx'
import { NameOptions, PreviewSection } from './message-preview.tsx'
import { Sentence } from './message-sentence.tsx'
import { Reach, SimulationSection } from './message-simulation.tsx'
import { HeadActions, describeStatus, StatusSection } from './message-status.tsx'
import { Panes } from './message-panes.tsx'
import { MessageTabs } from './message-tabs.tsx'
import { TestFields } from './message-test.tsx'
import { ReadyEmails } from './ready-emails.tsx'
import { type Ask, EVENT_NAMES, FIELD_NAMES, PROPERTY_NAMES, TAG_NAMES } from './message-when.tsx'
import { Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'

/** One form, so that no button loses input. */
export function EditorPage(props: EditorProps) {
  const { viewer, message, notice } = props
  const isEditor = hasRole(viewer.member.role, 'editor')
  return (
    <Frame
      viewer={viewer}
      page="messages"
      title={message?.name ?? 'New message'}
      state={describeStatus(message, props.counts)}
      action={isEditor ? <HeadActions {...props} /> : undefined}
      isSticky
      islands={['message']}
    >
      {message && <MessageTabs viewer={viewer} message={message} page="editor" />}
      <FormNotices
        notice={notice}
        locked={!isEditor && 'Only owners and editors of the account can change messages.'}
      />
      <div id={REFUSED}>{props.errors.length > 0 && <Refused lines={listChecks(props)} />}</div>
      {props.ready && <ReadyEmails {...props.ready} path={props.path} />}
      <EditorForm {...props} />
      {message && <StatusSection {...props} message={message} />}
    </Frame>
  )
}

/** Emptied by islands/message.ts once the fields are checked again. */
export const REFUSED = 'refused'

/** The checklist has the problems. */
function Refused({ lines }: { lines: CheckLine[] }) {
  const count = lines.reduce((sum, { problems }) => sum + problems.length, 0)
  return (
    <Notice kind="error">
      Nothing was saved. Fix <a href="#checks">{count === 1 ? 'one problem' : `${count} problems`}</a> first.
    </Notice>
  )
}

function EditorForm(props: EditorProps) {
  const { viewer, message, fields, path, errors, shown, timezone, now, simulation } = props
  const ask = makeAsk(props)
  return (
    <Form id={EDITOR} action={path} hidden={{ basedOn: textOf(fields, 'basedOn') }} errors={errors}>
      <div class="editor-top">
        <div>
          <Sentence
            ask={ask}
            path={path}
            fields={fields}
            timezone={timezone}
            others={props.others.map(({ name }) => name)}
            errors={errors.map(({ field }) => field)}
          />
          <div id={DATA_NOTES}>
            <DataNotes {...props} />
          </div>
          <Reach path={path} simulation={simulation} />
          <Panes {...props} />
        </div>
        <Checks {...props} />
      </div>
      <div class="editor">
        <div id="write" data-pane="write">
          {!message && <NameField ask={ask} />}
          <MailSection
            ask={ask}
            properties={shown.preview.properties}
            personFields={shown.preview.fields}
            date={dateOf(fields)}
          />
        </div>
        <PreviewSection
          {...shown}
          viewer={viewer}
          path={path}
          view={textOf(fields, 'view')}
          now={now}
          variants={listVariants(fields)}
          language={textOf(fields, 'language')}
        />
      </div>
      <HtmlSection ask={ask} />
      <LanguagesSection ask={ask} path={path} fields={fields} isEditor={hasRole(viewer.member.role, 'editor')} />
      <SenderSection
        ask={ask}
        appId={viewer.app.publicId}
        senders={props.senders}
        topics={props.topics}
        isNew={message === null}
      />
      <SimulationSection {...props} />
      <datalist id={EVENT_NAMES}>
        <NameOptions names={props.eventNames} />
      </datalist>
      <datalist id={FIELD_NAMES}>
        <NameOptions names={props.fieldNames} />
      </datalist>
      <datalist id={TAG_NAMES}>
        <NameOptions names={props.tagNames} />
      </datalist>
      <datalist id={PROPERTY_NAMES}>
        <NameOptions names={shown.preview.properties} />
      </datalist>
    </Form>
  )
}

function Checks(props: EditorProps) {
  const { viewer, message } = props
  const isEditor = hasRole(viewer.member.role, 'editor')
  const isLive = message?.status === 'live'
  return (
    <section id="checks" data-part data-pane="checks">
      <h2>{isLive ? 'Checks' : 'Before you go live'}</h2>
      <div id={CHECKLIST}>
        <Checklist
          viewer={viewer}
          isEditor={isEditor}
          isLive={isLive}
          fields={props.fields}
          lines={listChecks(props)}
        />
      </div>
      {isEditor && <TestFields {...props} />}
    </section>
  )
}

function makeAsk({ viewer, fields, errors, check }: EditorProps): Ask {
  // the form knows the errors of its submission
  const all = errors.length > 0 ? errors : (check?.problems ?? [])
  // not the fault of a field: the checklist leads to Sender
  const problems = all.filter((one) => !lacksSender(one))
  const isLocked = !hasRole(viewer.member.role, 'editor')
  return (name) => ({
    name,
    value: fields[name] ?? '',
    error: problems.find(({ field }) => field === name)?.message,
    isLocked,
    autocomplete: 'off',
  })
}
