/**
 * The limits of what customers send, each once. The schemas quote them to the reader of the
 * documentation, the readers enforce them, and tests hold the two together. Characters are Unicode code points, as in
 * JSON Schema.
 */

/** Levels of object or array inside one top-level field; a plain value has none, `{}` has one. */
export const MAX_FIELD_DEPTH = 32
/** Of a batch, so that an event which is too deep fails alone, and only what is absurd fails as a whole. */
export const MAX_BATCH_FIELD_DEPTH = 2 * MAX_FIELD_DEPTH

export const MAX_APP_ID_CHARACTERS = 64

/** RFC 5321: a path of 256 with its angle brackets. */
export const MAX_EMAIL_CHARACTERS = 254
export const MAX_LOCAL_PART_CHARACTERS = 64
export const MAX_DOMAIN_LABEL_CHARACTERS = 63

export const MAX_EVENT_NAME_CHARACTERS = 64
/** "Under 2 KB": this many bytes of compact UTF-8 are already too many. */
export const PROPERTIES_BYTES_BOUND = 2048
/** How far `occurredAt` may be ahead of us: clocks differ, but not by more. */
export const MAX_OCCURRED_AHEAD_MS = 10 * 60_000
export const MAX_BATCH_EVENTS = 100

export const MAX_NAME_CHARACTERS = 200
export const MAX_TAGS = 50
/** What a person may have after any number of merges; the custom fields of a person have the limits of one call. */
export const MAX_STORED_TAGS = 200
export const MAX_TAG_CHARACTERS = 64
export const MAX_CUSTOM_FIELDS = 100
export const MAX_CUSTOM_FIELD_KEY_CHARACTERS = 64
export const MAX_CUSTOM_FIELD_TEXT_CHARACTERS = 1000
/** Of the compact UTF-8 encoding of all that one call sends. */
export const MAX_CUSTOM_FIELDS_BYTES = 16 * 1024
export const MAX_SOURCE_CHARACTERS = 64
/** The longest IPv6 literal, the one that ends in a dotted IPv4 address. */
export const MAX_IP_CHARACTERS = 45

export const MAX_PAGE_ITEMS = 100
export const DEFAULT_PAGE_ITEMS = 50
export const MAX_CURSOR_CHARACTERS = 200

/** Names of unknown fields come from outside: an answer quotes them cut to this length, and no more of them than this. */
export const MAX_QUOTED_NAME_CHARACTERS = 64
export const MAX_UNKNOWN_FIELD_WARNINGS = 20
