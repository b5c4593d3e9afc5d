/** The shapes of texts that customers send, once: as patterns for the schemas and, compiled, for the readers. */
import { MAX_CUSTOM_FIELD_KEY_CHARACTERS, MAX_EVENT_NAME_CHARACTERS } from './field-limits.ts'

/** Our own event names start with `$`, which this keeps to us. */
export const EVENT_NAME_PATTERN = `^[A-Za-z0-9_.:-]{1,${MAX_EVENT_NAME_CHARACTERS}}$`

export const CUSTOM_FIELD_KEY_PATTERN = `^[A-Za-z0-9_.-]{1,${MAX_CUSTOM_FIELD_KEY_CHARACTERS}}$`

/** No C0, DEL or C1. Bidi and invisible characters are stored, and dealt with where they are shown. */
export const NO_CONTROL_PATTERN = '^[^\\u0000-\\u001F\\u007F-\\u009F]*$'

/** What every address has; the rest of the rule is readEmail's. `\s` is what trim() takes away. */
export const EMAIL_PATTERN = '^\\s*[^\\s@]+@[^\\s@.]+(?:\\.[^\\s@.]+)+\\s*$'

/** ISO 8601, always with a timezone: groups date, hours and minutes, seconds, fraction, zone. */
export const TIME_PATTERN =
  '^(\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01]))T((?:[01]\\d|2[0-3]):[0-5]\\d)' +
  '(?::([0-5]\\d)(?:\\.(\\d{1,9}))?)?(Z|[+-](?:[01]\\d|2[0-3]):?[0-5]\\d)$'

export const IP_PATTERN = '^[0-9A-Fa-f:.]+$'

export const RESULTS_READY = 'results_ready'
