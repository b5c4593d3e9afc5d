/** The texts of Eventpost itself, by language. */
import { languageOf } from '../../core/languages.ts'
import { de } from './de.ts'
import { type BuiltIn, en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import { nl } from './nl.ts'
import { pt } from './pt.ts'

export const BUILT_IN: Readonly<Record<string, BuiltIn>> = { de, en, es, fr, it, nl, pt }

/** German for de-CH. Null: nobody said which language it is, or it has no built-in texts. */
export function findBuiltIn(tag: string | null): BuiltIn | null {
  const language = tag === null ? '' : languageOf(tag)
  return Object.hasOwn(BUILT_IN, language) ? (BUILT_IN[language] ?? null) : null
}

/** German for Germany and for Austria, but not German and English. */
export const isSameLanguage = (tag: string, other: string): boolean => languageOf(tag) === languageOf(other)
