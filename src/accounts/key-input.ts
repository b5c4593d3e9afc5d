import type { KeyScope } from '../store/types.ts'
import { KEY_SCOPES } from './api-keys.ts'
import type { FieldError } from '../core/refusals.ts'

const NAME_CHARACTERS = 100

const isScope = (text: string): text is KeyScope => (KEY_SCOPES as readonly string[]).includes(text)

/** Used by the command line and the page. */
export function readKeyInput(text: {
  name: string
  scope: string
}): { name: string; scope: KeyScope } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const name = text.name.trim()
  if (name === '' || [...name].length > NAME_CHARACTERS || /\p{Cc}/u.test(name)) {
    errors.push({ field: 'name', code: 'invalid', message: `Give a name of 1 to ${NAME_CHARACTERS} characters.` })
  }
  if (!isScope(text.scope)) {
    errors.push({ field: 'scope', code: 'invalid', message: `Choose one of ${KEY_SCOPES.join(', ')}.` })
    return { errors }
  }
  return errors.length > 0 ? { errors } : { name, scope: text.scope }
}
