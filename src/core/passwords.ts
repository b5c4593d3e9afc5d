/** Passwords of members (promises 14). */

export const PASSWORD_MIN_CHARACTERS = 8
export const PASSWORD_MAX_CHARACTERS = 128
const HASHES_AT_ONCE = 2
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

let running = 0
const waiting: (() => void)[] = []

/** argon2id, 19 MiB, two passes; at most two at once, or a burst of sign-ins would take the memory of everything else. */
export async function hashPassword(password: string): Promise<string> {
  if (running >= HASHES_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    return await Bun.password.hash(password, ARGON2ID)
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
