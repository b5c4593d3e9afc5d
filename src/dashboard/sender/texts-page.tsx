/** @jsxImportSource preact */
import { type TextName, type TextsForm } from '../../accounts/app-texts.ts'
import { nameLanguage } from '../../core/languages.ts'
import { pathOf } from '../layout/frame.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { isOwner, type Refused, type SenderFacts, SenderFrame } from './sender-frame.tsx'

type TextsProps = {
  facts: SenderFacts
  refused: Refused<TextsForm>
  text: TextsForm
  /** empty: the app's own texts */
  language: string
  languages: string[]
  /** typed as another language, but is none */
  wrongLanguage: string | null
}

const FOOTER: [name: TextName, label: string][] = [
  ['reason', 'Why people get the email'],
  ['unsubscribe', 'Link to unsubscribe'],
  ['consentReason', 'Why people are asked to confirm their address'],
]

export const TextsPage = ({ facts, refused, text, language, languages, wrongLanguage }: TextsProps) => {
  const { viewer, marks } = facts
  const path = pathOf(viewer.app.publicId, 'sender/texts')
  const isLocked = !isOwner(viewer)
  const shown = [...new Set([...languages, ...(language === '' ? [] : [language])])]
  return (
    <SenderFrame facts={facts} current="sender/texts" state={STATE} refused={refused}>
      <nav class="choices" aria-label="Language">
        {['', ...shown].map((one) => (
          <a
            key={one}
            href={one === '' ? path : `${path}?${new URLSearchParams({ language: one })}`}
            aria-current={one === language ? 'true' : undefined}
          >
            {one === '' ? 'Default' : nameLanguage(one)}
          </a>
        ))}
      </nav>
      <Form
        action={path}
        id="texts"
        hidden={{ basedOn: refused.basedOn ?? marks.texts, language }}
        errors={refused.errors}
        isLocked={isLocked}
      >
        {language === '' && (
          <Field
            name="lang"
            label="Language of these texts"
            hint="Such as en or de-CH, for screen readers and spell checkers."
            value={text.lang}
            autocomplete="off"
            optional
          />
        )}
        <Texts title="Footer of emails" texts={FOOTER} text={text} />
        {!isLocked && (
          <div class="buttons">
            <Button kind="primary">Save</Button>
            {languages.includes(language) && (
              <Button name="do" value="remove" kind="danger">
                {`Remove ${nameLanguage(language)}`}
              </Button>
            )}
          </div>
        )}
      </Form>
      {!isLocked && <NewLanguage path={path} wrong={wrongLanguage} />}
    </SenderFrame>
  )
}

const STATE = (
  <>
    What readers of your emails are told. <code>{'{app}'}</code> is the app's name.
  </>
)

/** People whose field `locale` names it see its texts. */
const NewLanguage = ({ path, wrong }: { path: string; wrong: string | null }) => (
  <section>
    <h2>Another language</h2>
    <form method="get" action={path} class="beside">
      <Field
        name="language"
        id="new-language"
        label="Language"
        hint="For people whose locale it is, such as de."
        error={wrong === null ? undefined : 'Enter a language, such as de or pt-BR.'}
        value={wrong ?? ''}
        autocomplete="off"
        optional="unmarked"
      />
      <Button>Open</Button>
    </form>
  </section>
)

type GroupProps = { title: string; texts: readonly [name: TextName, label: string][]; text: TextsForm }

const Texts = ({ title, texts, text }: GroupProps) => (
  <section>
    <h2>{title}</h2>
    <div class="pairs">
      {texts.map(([name, label]) => (
        <Field key={name} name={name} label={label} value={text[name]} autocomplete="off" optional="unmarked" />
      ))}
    </div>
  </section>
)
