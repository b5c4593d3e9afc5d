/** Splits untrusted text for display: nothing in it may hide or reorder the text around it. */

export type TextPiece = { text: string } | { hidden: string[] }

/** Controls, formats (bidi, zero width, tags), separators and blank letters; not tab and line feed. */
const HIDDEN =
  // oxlint-disable-next-line no-misleading-character-class -- each character is matched by itself
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u
/** Stacked marks would grow into neighbouring lines. */
const MARK = /\p{M}/u
const MARKS_MAX = 4

const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u
/** Scripts in which a joiner changes the shape of a letter. */
const JOINED =
  /[\p{Script=Arabic}\p{Script=Bengali}\p{Script=Devanagari}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}]$/u

/** Joiners belong in emoji and some scripts; elsewhere they fake look-alike names. */
function isExpected(character: string, before: string): boolean {
  if (character === '\t' || character === '\n') return true
  if (character === '\u200d') return PICTURE.test(before) || JOINED.test(before)
  if (character === '\u200c') return JOINED.test(before)
  return character === '\ufe0f' && /[\p{Extended_Pictographic}0-9#*]$/u.test(before)
}

const nameOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

export function readVisibleText(text: string): TextPiece[] {
  const pieces: TextPiece[] = []
  let marks = 0
  let before = ''
  for (const character of text) {
    marks = MARK.test(character) ? marks + 1 : 0
    const isHidden = marks > MARKS_MAX || (HIDDEN.test(character) && !isExpected(character, before))
    const last = pieces.at(-1)
    if (isHidden && last && 'hidden' in last) last.hidden.push(nameOf(character))
    else if (isHidden) pieces.push({ hidden: [nameOf(character)] })
    else if (last && 'text' in last) last.text += character
    else pieces.push({ text: character })
    before = character
  }
  return pieces
}

export function cutText(text: string, most: number): { text: string; isCut: boolean } {
  if (text.length <= most) return { text, isCut: false }
  const end = /[\ud800-\udbff]/.test(text[most - 1] ?? '') ? most - 1 : most
  return { text: text.slice(0, end), isCut: true }
}

/** Escapes invisible characters, which keeps the JSON equivalent. */
export const toVisibleJson = (value: unknown): string =>
  readVisibleText(JSON.stringify(value, null, 2))
    .map((piece) => ('text' in piece ? piece.text : piece.hidden.map(toEscape).join('')))
    .join('')

/** Escapes what would be invisible, control a terminal or begin a line. */
export const toVisibleLine = (text: string): string => toVisibleJson(text).slice(1, -1).replaceAll('\\"', '"')

function toEscape(name: string): string {
  const character = String.fromCodePoint(Number.parseInt(name.slice(2), 16))
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

/** Line breaks and bidi marks that affect surrounding text. */
const BREAKS = /[\s\p{Cc}\u2028\u2029]+/gu
const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g

/** One line; undefined when nothing visible is left. */
export function cleanText(text: string): string | undefined {
  const line = text.toWellFormed().replaceAll(DIRECTION_CONTROLS, '').replaceAll(BREAKS, ' ').trim()
  return line === '' ? undefined : line
}

/** French has them before signs such as a question mark. */
const NO_BREAK_SPACES = /[\u00a0\u202f]/g

/** Whether a typed text is one line as it is, which may have no-break spaces. */
export function isOneLine(text: string): boolean {
  const line = text.replaceAll(NO_BREAK_SPACES, '_')
  return cleanText(line) === line
}
