import { MAX_CUSTOM_FIELD_KEY_CHARACTERS, MAX_EVENT_NAME_CHARACTERS } from './field-limits.ts'

/** Names that start with `$` are reserved for us. */
export const EVENT_NAME_PATTERN = `^[A-Za-z0-9_.:-]{1,${MAX_EVENT_NAME_CHARACTERS}}$`

export const CUSTOM_FIELD_KEY_PATTERN = `^[A-Za-z0-9_.-]{1,${MAX_CUSTOM_FIELD_KEY_CHARACTERS}}$`

/** No C0, DEL or C1. Bidi and invisible characters are handled where text is shown. */
export const NO_CONTROL_PATTERN = '^[^\\u0000-\\u001F\\u007F-\\u009F]*$'

/** Necessary, not sufficient: readEmail has the full rule. `\s` equals what trim() removes. */
export const EMAIL_PATTERN = '^\\s*[^\\s@]+@[^\\s@.]+(?:\\.[^\\s@.]+)+\\s*$'

/** ISO 8601 with timezone. Groups: date, hours and minutes, seconds, fraction, zone. */
export const TIME_PATTERN =
  '^(\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01]))T((?:[01]\\d|2[0-3]):[0-5]\\d)' +
  '(?::([0-5]\\d)(?:\\.(\\d{1,9}))?)?(Z|[+-](?:[01]\\d|2[0-3]):?[0-5]\\d)$'

export const IP_PATTERN = '^[0-9A-Fa-f:.]+$'

export const RESULTS_READY = 'results_ready'
