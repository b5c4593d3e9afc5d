/** @jsxImportSource preact */
import { type FromText, writeFrom } from '../../accounts/sender-settings.ts'
import type { Mailbox } from '../../core/mail-addresses.ts'
import type { RenderedMail } from '../../messages/mailer.ts'
import { pathOf } from '../layout/frame.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { SentText } from '../ui/text.tsx'
import {
  describeFrom,
  isOwner,
  type Refused,
  SampleAside,
  type SenderFacts,
  SenderFrame,
  SettingsForm,
} from './sender-frame.tsx'

type FromProps = {
  facts: SenderFacts
  refused: Refused<FromText>
  /** `look`: the unsaved fields that the sample uses; null if it can't be rendered */
  sample: { mail: RenderedMail; from: string; look: URLSearchParams | null } | null
  /** sender of the installation */
  installation: Mailbox | null
}

export const FromPage = ({ facts, refused, sample, installation }: FromProps) => {
  const { viewer, settings } = facts
  const text = refused.text ?? writeFrom(settings)
  return (
    <SenderFrame facts={facts} current="sender" state={<State {...facts} />} refused={refused}>
      <div class="editor">
        <SettingsForm {...{ facts, refused }} page="sender" of="from" id="from">
          <FromFields text={text} installation={installation} appName={viewer.app.name} />
          {isOwner(viewer) && (
            <div class="buttons">
              <Button kind="primary">Save</Button>
              <Button name="do" value="preview">
                Preview
              </Button>
            </div>
          )}
        </SettingsForm>
        {sample && (
          <SampleAside
            title="Sample email"
            mail={{
              ...sample.mail,
              from: sample.from,
              src: `${pathOf(viewer.app.publicId, 'sender')}/sample${sample.look === null ? '' : `?${sample.look}`}`,
            }}
          />
        )}
      </div>
    </SenderFrame>
  )
}

const State = ({ viewer, mailRoute: { from, server, isUnreadable } }: SenderFacts) => {
  const serverPath = pathOf(viewer.app.publicId, 'sender/server')
  if (from === null) return 'No sender yet. Add an address before a message goes live.'
  return (
    <>
      Emails come from <SentText>{describeFrom(from)}</SentText>
      {server === null ? '' : ` through ${server}`}.
      {isUnreadable ? (
        <>
          {" The saved mail server settings can't be read. "}
          <a href={serverPath}>Set up the mail server again</a>.
        </>
      ) : (
        server === null && (
          <>
            {' No mail server yet. '}
            <a href={serverPath}>Set up a mail server</a>.
          </>
        )
      )}
    </>
  )
}

type FieldsProps = Pick<FromProps, 'installation'> & { text: FromText; appName: string }

const FromFields = ({ text, installation, appName }: FieldsProps) => (
  <>
    <section>
      <h2>From</h2>
      <div class="pair">
        <Field
          name="fromName"
          label="Name"
          hint={`Default: ${installation?.name || appName}`}
          value={text.fromName}
          autocomplete="off"
          optional
        />
        <Field
          name="fromEmail"
          label="Address"
          kind="email"
          hint={
            installation === null ? 'Required unless every message has its own.' : `Default: ${installation.address}`
          }
          value={text.fromEmail}
          autocomplete="off"
          optional={installation === null ? 'unmarked' : true}
        />
      </div>
      <div class="pair level">
        <Field
          name="replyTo"
          label="Replies go to"
          kind="email"
          hint="Default: the sender address."
          value={text.replyTo}
          autocomplete="off"
          optional
        />
        <Field
          name="otherFromEmails"
          label="Other addresses"
          kind="lines"
          rows={2}
          hint="One per line. Messages can use them."
          value={text.otherFromEmails}
          autocomplete="off"
          optional
        />
      </div>
    </section>
    <section>
      <h2>Appearance</h2>
      <div class="pair">
        <Field
          name="logoUrl"
          label="Logo"
          hint="Image URL, https:// only."
          value={text.logoUrl}
          autocomplete="off"
          optional
        />
        <Field
          name="colour"
          label="Colour"
          hint="For buttons, such as #2b4acb."
          value={text.colour}
          autocomplete="off"
          optional
        />
      </div>
      <Field
        name="postalAddress"
        label="Postal address"
        kind="lines"
        rows={2}
        hint="Shown in the footer. Required by law in many countries."
        value={text.postalAddress}
        autocomplete="off"
        optional
      />
    </section>
  </>
)
