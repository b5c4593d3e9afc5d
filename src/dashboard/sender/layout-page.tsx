/** @jsxImportSource preact */
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import type { ShownMail } from '../ui/mail-preview.tsx'
import { isOwner, type Refused, SampleAside, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'

type LayoutProps = {
  facts: SenderFacts
  refused: Refused<string>
  /** the default, to begin with */
  standard: string
  /** null: the layout can't be used */
  sample: ShownMail | null
}

export const LayoutPage = ({ facts, refused, standard, sample }: LayoutProps) => {
  const { viewer, settings } = facts
  const isOwn = settings.layout !== null
  const state = isOwn ? 'Emails use your own layout.' : 'Emails use the default layout. Change it, or paste your own.'
  return (
    <SenderFrame facts={facts} current="sender/layout" state={state} refused={refused}>
      <div class="editor">
        <SettingsForm {...{ facts, refused }} page="sender/layout" of="layout">
          <Field
            name="layout"
            label="HTML"
            kind="source"
            hint={
              <>
                Liquid, with <a href="/docs/layout">variables</a>. Surrounds the text of every email written in
                Markdown.
              </>
            }
            value={refused.text ?? settings.layout ?? standard}
            autocomplete="off"
          />
          {isOwner(viewer) && (
            <div class="buttons">
              <Button kind="primary">Save</Button>
              <Button name="do" value="preview">
                Preview
              </Button>
              {isOwn && (
                <Button name="do" value="reset" kind="danger">
                  Reset to the default layout
                </Button>
              )}
            </div>
          )}
        </SettingsForm>
        {sample && <SampleAside title="Sample email" mail={sample} />}
      </div>
    </SenderFrame>
  )
}
