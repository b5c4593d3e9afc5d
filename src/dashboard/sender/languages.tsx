/** @jsxImportSource preact */
import { hintOfTag, nameLanguage, readTag } from '../../core/languages.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'

/** Texts in several languages. `language` empty: the app's own. `wrong`: typed as a language, but is none. */
export type ShownLanguage = { language: string; wrong: string | null }

/** `languages`: those that have texts. 0.1.0 saved tags that are refused now. */
export function checkLanguage(asked: string, languages: readonly string[]): ShownLanguage {
  const language = asked === '' || languages.includes(asked) ? asked : readTag(asked)
  return language === null ? { language: '', wrong: asked } : { language, wrong: null }
}

/** Of the address. */
export const readLanguage = (request: Request, languages: readonly string[]): ShownLanguage =>
  checkLanguage((new URL(request.url).searchParams.get('language') ?? '').trim(), languages)

export const languagePath = (path: string, language: string): string =>
  language === '' ? path : `${path}?${new URLSearchParams({ language })}`

type NavProps = { path: string; language: string; languages: string[] }

/** The app's own texts, those in other languages, and the language that is about to be added. */
export const LanguageNav = ({ path, language, languages }: NavProps) => (
  <nav class="choices" aria-label="Language">
    {[...new Set(['', ...languages, language])].map((one) => (
      <a key={one} href={languagePath(path, one)} aria-current={one === language ? 'true' : undefined}>
        {one === '' ? 'Default' : nameLanguage(one)}
      </a>
    ))}
  </nav>
)

/** `language`: the one that can be removed; empty if none can. */
export const LanguageButtons = ({ language }: { language: string }) => (
  <div class="buttons">
    <Button kind="primary">Save</Button>
    {language !== '' && (
      <Button name="do" value="remove" kind="danger">
        {`Remove ${nameLanguage(language)}`}
      </Button>
    )}
  </div>
)

/** People whose `locale` field names it see its texts. */
export const NewLanguage = ({ path, wrong }: { path: string; wrong: string | null }) => (
  <form method="get" action={path} class="beside">
    <Field
      name="language"
      id="new-language"
      label="Another language"
      hint="For people with this locale, such as de."
      error={wrong === null ? undefined : `Enter a language, such as de or pt-BR.${hintOfTag(wrong)}`}
      value={wrong ?? ''}
      autocomplete="off"
      optional="unmarked"
    />
    <Button>Open</Button>
  </form>
)
