/** Passwords of members (promises 14). */
import commonPasswords from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'text' }

export const PASSWORD_MIN_CHARACTERS = 8
export const PASSWORD_MAX_CHARACTERS = 128
const HASHES_AT_ONCE = 2
/** About two seconds of work. */
const WAITING_MAX = 100
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** Guessed first here: no list of other services has the name of this one. */
const OWN = ['eventpost', 'eventpost1', 'eventpost123']
/** One to four characters over and over, as in aaaaaaaa and 12341234. */
const REPEATED = /^(.{1,4})\1+$/s
const ROWS = ['01234567890', '09876543210', 'abcdefghijklmnopqrstuvwxyz', 'zyxwvutsrqponmlkjihgfedcba']

/**
 * What is tried first by anyone who guesses: the list has 18,000 of 8 characters and more, and leaves out mere patterns.
 * It is asked seldom, and stays the text it is: as an array it would hold 8 MB.
 */
function isCommon(password: string): boolean {
  const text = password.toLowerCase()
  return (
    commonPasswords.includes(JSON.stringify(text)) ||
    OWN.includes(text) ||
    REPEATED.test(text) ||
    ROWS.some((row) => row.includes(text))
  )
}

/** Why a password cannot be taken, as a sentence, or null. */
export function findPasswordFault(password: string): string | null {
  const length = [...password].length
  if (length < PASSWORD_MIN_CHARACTERS) return `Choose a password of at least ${PASSWORD_MIN_CHARACTERS} characters.`
  if (length > PASSWORD_MAX_CHARACTERS) return `Choose a password of at most ${PASSWORD_MAX_CHARACTERS} characters.`
  if (isCommon(password)) return 'This password is one of the first that others would try. Choose another.'
  return null
}

/** What has the hash of nobody's password: comparing with it takes as long as with anyone's. */
let nobodysHash: string | null = null

let running = 0
const waiting: (() => void)[] = []

/** At most two at once, or a burst of sign-ins would take the memory of everything else. */
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

/** Whether so many wait that one more would wait for seconds. */
export const isPasswordQueueFull = (): boolean => waiting.length >= WAITING_MAX

/** argon2id, 19 MiB, two passes. */
export const hashPassword = (password: string): Promise<string> => inTurn(() => Bun.password.hash(password, ARGON2ID))

/**
 * Whether a password has this hash. Without one, which is a person who is unknown or has not chosen a password yet, it
 * takes as long and is never right.
 */
export async function isPasswordOf(hash: string | null, password: string): Promise<boolean> {
  if (password.length > PASSWORD_MAX_CHARACTERS * 4) return false
  nobodysHash ??= await hashPassword(crypto.randomUUID())
  const known = hash ?? nobodysHash
  const isRight = await inTurn(() => Bun.password.verify(password, known))
  return isRight && hash !== null
}
