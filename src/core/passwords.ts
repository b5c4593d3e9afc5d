/** Passwords of members (promises 14). */

export const PASSWORD_MIN_CHARACTERS = 8
export const PASSWORD_MAX_CHARACTERS = 128
const HASHES_AT_ONCE = 2
/** About two seconds of work. */
const WAITING_MAX = 100
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** What is tried first by anyone who guesses; compared in lower case. */
const COMMON = new Set(
  `password passw0rd password1 password123 p@ssw0rd 12345678 123456789 1234567890 87654321 11111111 00000000 qwertyui
  qwertyuiop qwerty123 qwerty12 1q2w3e4r 1qaz2wsx asdfghjk asdfghjkl zxcvbnm1 iloveyou sunshine princess football
  baseball superman trustno1 welcome1 welcome123 letmein1 abc12345 abcd1234 a1b2c3d4 changeme changeme1 admin123
  administrator eventpost eventpost1 monkey123 dragon123 master123 michael1 jennifer computer internet whatever
  starwars 12341234 11223344 88888888 99999999 aaaaaaaa qazwsxedc q1w2e3r4 secret123 testtest test1234`.split(/\s+/),
)

/** Why a password cannot be taken, as a sentence, or null. */
export function findPasswordFault(password: string): string | null {
  const length = [...password].length
  if (length < PASSWORD_MIN_CHARACTERS) return `Choose a password of at least ${PASSWORD_MIN_CHARACTERS} characters.`
  if (length > PASSWORD_MAX_CHARACTERS) return `Choose a password of at most ${PASSWORD_MAX_CHARACTERS} characters.`
  if (COMMON.has(password.toLowerCase()))
    return 'This password is one of the first that others would try. Choose another.'
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
