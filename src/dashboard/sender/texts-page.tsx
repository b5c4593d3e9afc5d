/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import {
  defaultTexts,
  describeCount,
  isMixed,
  type TextCount,
  type TextName,
  type TextsForm,
} from '../../accounts/app-texts.ts'
import { findBuiltIn } from '../../accounts/texts/index.ts'
import { nameLanguage } from '../../core/languages.ts'
import type { FieldError } from '../../core/refusals.ts'
import { pathOf } from '../layout/frame.tsx'
import { Field } from '../ui/field.tsx'
import { LanguageButtons, LanguageNav, NewLanguage, type ShownLanguage } from './languages.tsx'
import { isOwner, type Refused, type SenderFacts, SenderFrame, SettingsForm } from './sender-frame.tsx'

type TextsProps = {
  facts: SenderFacts
  refused: Refused<TextsForm>
  text: TextsForm
  languages: string[]
  /** as they are saved */
  counts: TextCount[]
  /** languages of messages */
  mixed: string[]
} & ShownLanguage

type Labelled = [name: TextName, label: string][]

const FOOTER: Labelled = [
  ['reason', 'Why people get the email'],
  ['unsubscribe', 'Unsubscribe link'],
  ['consentReason', 'Why people are asked to confirm their address'],
]

/** In the order in which people see them. */
const UNSUBSCRIBE: Labelled = [
  ['askTitle', 'Title'],
  ['askLead', 'Explanation'],
  ['askButton', 'Button'],
  ['doneTitle', 'Title after unsubscribing'],
  ['doneLead', 'Explanation after unsubscribing'],
  ['onItsWay', 'If an email was being sent'],
  ['undoHint', 'Question before the next button'],
  ['undoButton', 'Button to subscribe again'],
  ['undoneTitle', 'Title after subscribing again'],
  ['undoneLead', 'Explanation after subscribing again'],
  ['failedTitle', 'Title if nothing was saved'],
  ['failedLead', 'Explanation if nothing was saved'],
  ['retryButton', 'Button to try again'],
]

const TOPICS: Labelled = [
  ['topicTitle', 'Title'],
  ['topicLead', 'Explanation'],
  ['topicButton', 'Button'],
  ['allButton', 'Button for all emails'],
  ['allDoneLead', 'Explanation after using that button'],
  ['topicDoneTitle', 'Title after unsubscribing'],
  ['topicDoneLead', 'Explanation after unsubscribing'],
  ['topicUndoneTitle', 'Title after subscribing again'],
  ['choiceTitle', 'Heading for the list of topics'],
  ['choiceButton', 'Button for the list'],
  ['chosenTitle', 'Title after choosing topics'],
  ['chosenLead', 'Explanation after choosing topics'],
]

const CONFIRM: Labelled = [
  ['confirmTitle', 'Title'],
  ['confirmLead', 'Explanation'],
  ['confirmButton', 'Button'],
  ['confirmedTitle', 'Title after confirming'],
  ['confirmedLead', 'Explanation after confirming'],
  ['expiredTitle', 'Title for an expired link'],
  ['expiredLead', 'Explanation for an expired link'],
  ['newLinkButton', 'Button for a new link'],
  ['newLinkTitle', 'Title after a new link was sent'],
  ['newLinkLead', 'Explanation after a new link was sent'],
  ['noLinkTitle', 'Title if no new link was sent'],
  ['tooEarlyLead', 'Explanation within an hour of the last link'],
  ['noLinkLead', 'Explanation if double opt-in is off'],
  ['refusingTitle', 'Title if there is nothing to confirm'],
  ['refusingLead', 'Explanation if there is nothing to confirm'],
]

export const TextsPage = ({ facts, refused, text, language, languages, counts, mixed, wrong }: TextsProps) => {
  const { viewer } = facts
  const path = pathOf(viewer.app.publicId, 'sender/texts')
  const isLocked = !isOwner(viewer)
  const lang = language || text.lang
  const defaults = defaultTexts(lang, language === '' ? {} : facts.settings.texts?.own)
  const shownTexts = { text, language, lang, defaults, errors: refused.errors ?? [] }
  return (
    <SenderFrame facts={facts} current="sender/texts" state={STATE} refused={refused}>
      <LanguageNav {...{ path, language, languages }} />
      {!isLocked && <NewLanguage path={path} wrong={wrong} />}
      {[...describeLanguage(language, counts), ...describeMixed(mixed)].map((one) => (
        <p key={one} class="hint">
          {one}
        </p>
      ))}
      <SettingsForm {...{ facts, refused }} page="sender/texts" of="texts" id="texts" hidden={{ language }}>
        {language === '' && (
          <Field
            name="lang"
            label="Language of these texts"
            hint="Such as en or de-CH. Selects the built-in texts."
            value={text.lang}
            autocomplete="off"
            optional
          />
        )}
        <section>
          <h2>Email footer</h2>
          <Texts texts={FOOTER} {...shownTexts} />
        </section>
        <section>
          <h2>Unsubscribe page</h2>
          <Texts texts={UNSUBSCRIBE} {...shownTexts} />
        </section>
        <MoreTexts title="Unsubscribe page for a topic" texts={TOPICS} {...shownTexts}>
          <code>{'{topic}'}</code> is the topic's name.
        </MoreTexts>
        <MoreTexts title="Page to confirm an address" texts={CONFIRM} {...shownTexts}>
          Used with double opt-in.
        </MoreTexts>
        {!isLocked && <LanguageButtons language={languages.includes(language) ? language : ''} />}
      </SettingsForm>
    </SenderFrame>
  )
}

const STATE = (
  <>
    Texts around your emails. <code>{'{app}'}</code> is the app's name. On pages, <code>{'{email}'}</code> is the
    reader's address, partly hidden.
  </>
)

function describeLanguage(language: string, counts: TextCount[]): string[] {
  if (language !== '' && findBuiltIn(language) !== null)
    return [
      `The default texts are in ${nameLanguage(language)}. Change what you like.`,
      ...counts.filter(isMixed).map(describeCount),
    ]
  if (language !== '' && counts.every(({ count }) => count === 0))
    return [`No texts are in ${nameLanguage(language)} yet. Empty texts stay in English.`]
  return counts.filter(isMixed).map(describeCount)
}

const describeMixed = (languages: string[]): string[] =>
  languages.length === 0
    ? []
    : [
        `Your own texts are also used in ${joinAnd(languages.map(nameLanguage))}, alongside the built-in ones. Open a language to translate your texts.`,
      ]

const joinAnd = (all: string[]): string => new Intl.ListFormat('en').format(all)

/** `language` empty: the app's own texts. */
type GroupProps = {
  texts: Labelled
  text: TextsForm
  language: string
  lang: string
  defaults: Record<TextName, string>
}

const Texts = ({ texts, text, language, lang, defaults }: GroupProps) => (
  <div class="pairs">
    {texts.map(([name, label]) => (
      <Field
        key={name}
        {...{ name, label, lang }}
        value={text[name]}
        placeholder={defaults[name]}
        mark={language !== '' && text[name] === '' ? 'not translated' : undefined}
        autocomplete="off"
        optional="unmarked"
      />
    ))}
  </div>
)

type MoreProps = GroupProps & { title: string; errors: FieldError[]; children: ComponentChildren }

const MoreTexts = ({ title, errors, children, ...group }: MoreProps) => (
  <details class="more-fields" open={errors.some(({ field }) => group.texts.some(([name]) => name === field))}>
    <summary>
      <h2>{title}</h2>
    </summary>
    <p class="hint">{children}</p>
    <Texts {...group} />
  </details>
)
