import { PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS } from '../../accounts/passwords.ts'

export const PASSWORD_HINT = `${PASSWORD_MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters. A few random words are easy to remember and hard to guess.`
