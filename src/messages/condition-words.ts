import type { Compared } from '../store/message-types.ts'

const VALUE_CHARACTERS = 80

/** Text is quoted and cut; paths and numbers aren't. */
export function sayValue(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  const cut = value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS).toWellFormed()}\u2026` : value
  return /^[\w./:-]+$/.test(cut) ? cut : `"${cut}"`
}

/** Completes "this message asks for": `"pro"`, `more than 3`, `any value`. */
export function sayCompared({ is, to = '' }: Compared): string {
  const value = sayValue(to)
  switch (is) {
    case 'equal':
      return value
    case 'notEqual':
      return `anything but ${value}`
    case 'contains':
      return `something that contains ${value}`
    case 'above':
      return `more than ${value}`
    case 'below':
      return `less than ${value}`
    case 'present':
      return 'any value'
    case 'absent':
      return 'none'
  }
}
