/**
 * Limits of customer input. Schemas quote them and readers enforce them; tests compare the two. Characters are Unicode
 * code points, as in JSON Schema.
 */
import { MINUTE_MS } from './clock.ts'

/** Nesting inside one top-level field; a plain value has 0, `{}` has 1. */
export const MAX_FIELD_DEPTH = 32
/** Higher, so that an event that is too deep fails alone. */
export const MAX_BATCH_FIELD_DEPTH = 2 * MAX_FIELD_DEPTH

export const MAX_APP_ID_CHARACTERS = 64

export const MAX_EMAIL_CHARACTERS = 254
export const MAX_LOCAL_PART_CHARACTERS = 64
export const MAX_DOMAIN_LABEL_CHARACTERS = 63

export const MAX_EVENT_NAME_CHARACTERS = 64
/** "Under 2 KB": this many bytes of compact UTF-8 are too many. */
export const PROPERTIES_BYTES_BOUND = 2048
export const MAX_OCCURRED_AHEAD_MS = 10 * MINUTE_MS
export const MAX_BATCH_EVENTS = 100

export const MAX_NAME_CHARACTERS = 200
export const MAX_TAGS = 50
/** After any number of merges. One request is limited separately. */
export const MAX_STORED_TAGS = 200
export const MAX_TAG_CHARACTERS = 64
export const MAX_CUSTOM_FIELDS = 100
export const MAX_CUSTOM_FIELD_KEY_CHARACTERS = 64
export const MAX_CUSTOM_FIELD_TEXT_CHARACTERS = 1000
export const MAX_CUSTOM_FIELDS_BYTES = 16 * 1024
export const MAX_SOURCE_CHARACTERS = 64
export const MAX_IP_CHARACTERS = 45

export const MAX_PAGE_ITEMS = 100
export const DEFAULT_PAGE_ITEMS = 50
export const MAX_CURSOR_CHARACTERS = 200

/** Names of unknown fields are quoted in answers, cut to this length. */
export const MAX_QUOTED_NAME_CHARACTERS = 64
export const MAX_UNKNOWN_FIELD_WARNINGS = 20
