/** @jsxImportSource preact */
import { daysOf, type OptInForm, writeOptIn } from '../../accounts/opt-in.ts'
import type { RenderedMail } from '../../messages/mailer.ts'
import { pathOf } from '../layout/frame.tsx'
import { Toggle } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { LanguageButtons, LanguageNav, languagePath, NewLanguage, type ShownLanguage } from './languages.tsx'
import { isOwner, type Refused, SampleAside, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'

type OptInProps = {
  facts: SenderFacts
  refused: Refused<OptInForm>
  /** as it is saved; null if it can't be rendered */
  sample: { mail: RenderedMail; from: string } | null
  languages: string[]
} & ShownLanguage

export const OptInPage = ({ facts, refused, sample, language, languages, wrong }: OptInProps) => {
  const { viewer, settings } = facts
  const path = pathOf(viewer.app.publicId, 'sender/opt-in')
  const text = refused.text ?? writeOptIn(settings.optIn, language, settings.texts?.lang)
  const isLocked = !isOwner(viewer)
  return (
    <SenderFrame facts={facts} current="sender/opt-in" state={<State {...facts} />} refused={refused}>
      <LanguageNav {...{ path, language, languages }} />
      {!isLocked && <NewLanguage path={path} wrong={wrong} />}
      <div class="editor">
        <SettingsForm {...{ facts, refused }} page="sender/opt-in" of="optIn" hidden={{ language }}>
          {language === '' && <OptInFields text={text} />}
          <TextFields text={text} lang={language === '' ? (settings.texts?.lang ?? '') : language} />
          {!isLocked && <LanguageButtons language={languages.includes(language) ? language : ''} />}
        </SettingsForm>
        {sample && (
          <SampleAside
            title="Saved email"
            mail={{ ...sample.mail, from: sample.from, src: languagePath(`${path}/sample`, language) }}
          />
        )}
      </div>
    </SenderFrame>
  )
}

const State = ({ settings: { optIn } }: SenderFacts) => (
  <>
    {optIn?.isOn
      ? `People added with "consent": "pending" get a link that works for ${countDays(daysOf(optIn))}.`
      : 'Off: nobody is asked to confirm their address.'}{' '}
    <a href="/docs/opt-in">How it works</a>
  </>
)

const countDays = (days: number): string => (days === 1 ? 'a day' : `${days} days`)

const OptInFields = ({ text }: { text: OptInForm }) => (
  <section>
    <h2>Confirmation</h2>
    <Toggle
      name="isOn"
      label="Ask people to confirm their address"
      hint='Only people added with "consent": "pending", or asked by a member.'
      isOn={text.isOn}
    />
    <Toggle
      name="storesIp"
      label="Store the IP address of people who confirm"
      hint="Time, source and wording are always stored."
      isOn={text.storesIp}
    />
    <div class="pair short">
      <Field
        name="days"
        label="Links work for"
        hint="Days. Default: 7."
        value={text.days}
        autocomplete="off"
        optional
      />
    </div>
  </section>
)

const TextFields = ({ text, lang }: { text: OptInForm; lang: string }) => (
  <section>
    <h2>Email</h2>
    <Field name="subject" label="Subject" lang={lang} value={text.subject} autocomplete="off" />
    <Field
      name="body"
      label="Text"
      lang={lang}
      kind="lines"
      rows={8}
      hint={
        <>
          Markdown, with <a href="/docs/content">variables</a> for the person and the app.
        </>
      }
      value={text.body}
      autocomplete="off"
    />
    <Field
      name="button"
      label="Button"
      lang={lang}
      hint="Below the text. Opens a page that asks once more."
      value={text.button}
      autocomplete="off"
    />
  </section>
)
