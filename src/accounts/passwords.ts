import commonPasswords from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'text' }

export const PASSWORD_MIN_CHARACTERS = 8
export const PASSWORD_MAX_CHARACTERS = 128
export const PASSWORD_HINT = `${PASSWORD_MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters. A few random words work well.`
const HASHES_AT_ONCE = 2
const WAITING_MAX = 100
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** No common list contains this product's name. */
const OWN = 'eventpost'
/** One to four characters repeated: aaaaaaaa, 12341234. */
const REPEATED = /^(.{1,4})\1+$/s
const ROWS = ['01234567890', '09876543210', 'abcdefghijklmnopqrstuvwxyz', 'zyxwvutsrqponmlkjihgfedcba']

/** Nearly 18,000 common passwords of 8 or more characters. Searched as text: an array would hold 8 MB. */
function isCommon(password: string): boolean {
  const text = password.toLowerCase()
  return commonPasswords.includes(JSON.stringify(text)) || REPEATED.test(text) || ROWS.some((row) => row.includes(text))
}

export type PasswordContext = { email: string; names: string[] }

/** Shorter words are part of many others. */
const WORD_MIN_CHARACTERS = 3
/** Characters that must remain without the guessable words. */
const REST_MIN_CHARACTERS = 6

const LOOKALIKES: [RegExp, string][] = [
  [/[1!|l]/g, 'i'],
  [/[0]/g, 'o'],
  [/[3]/g, 'e'],
  [/[4@]/g, 'a'],
  [/[5$]/g, 's'],
  [/[7]/g, 't'],
]

const toPlain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{Nd}]/gu, '')

const toLetters = (text: string): string =>
  toPlain(
    LOOKALIKES.reduce((changed, [lookalike, letter]) => changed.replaceAll(lookalike, letter), text.toLowerCase()),
  )

const reverse = (text: string): string => [...text].toReversed().join('')

const listWords = ({ email, names }: PasswordContext): string[] =>
  [OWN, email, ...email.split('@'), ...names]
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{Nd}]+/u)])
    .filter((word) => toPlain(word).length >= WORD_MIN_CHARACTERS)

function isMade(text: string, words: string[]): boolean {
  const byLength = words.toSorted((a, b) => b.length - a.length)
  const rest = byLength.reduce((left, word) => left.replaceAll(word, ''), text)
  return rest !== text && (rest.length < REST_MIN_CHARACTERS || isCommon(rest))
}

/** Recognises variants of the words: `4da@3xample.com!`, `Engine2026`, `enigne123`. */
function isGuessable(password: string, context: PasswordContext): boolean {
  const words = listWords(context)
  const [plain, letters] = [words.map(toPlain), words.map(toLetters)]
  const reversed = reverse(toPlain(password))
  return isMade(toPlain(password), plain) || isMade(toLetters(password), letters) || isMade(reversed, plain)
}

export function findPasswordFault(password: string, context: PasswordContext): string | null {
  const length = [...password].length
  if (length < PASSWORD_MIN_CHARACTERS) return `Choose a password of at least ${PASSWORD_MIN_CHARACTERS} characters.`
  if (length > PASSWORD_MAX_CHARACTERS) return `Choose a password of at most ${PASSWORD_MAX_CHARACTERS} characters.`
  if (isCommon(password)) return 'This password is too common. Choose another.'
  if (isGuessable(password, context))
    return 'This password is too similar to your email or to the name of your account or app. Choose another.'
  return null
}

/** Nobody's password. Comparing with it takes as long as with a real one. */
let nobodysHash: string | null = null

let running = 0
const waiting: (() => void)[] = []

/** At most two at once: a burst of sign-ins must not exhaust memory. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= HASHES_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    return await work()
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}

export const isPasswordQueueFull = (): boolean => waiting.length >= WAITING_MAX

/** argon2id, 19 MiB, two passes. */
export const hashPassword = (password: string): Promise<string> => inTurn(() => Bun.password.hash(password, ARGON2ID))

/** Takes equally long without a hash (unknown person or no password yet), and is then false. */
export async function isPasswordOf(hash: string | null, password: string): Promise<boolean> {
  if (password.length > PASSWORD_MAX_CHARACTERS * 4) return false
  nobodysHash ??= await hashPassword(crypto.randomUUID())
  const known = hash ?? nobodysHash
  const isRight = await inTurn(() => Bun.password.verify(password, known))
  return isRight && hash !== null
}
