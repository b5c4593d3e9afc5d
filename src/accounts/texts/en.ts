/** The texts that every app has until it writes its own. Other languages have the same, one file each. */
import type { OptInText } from '../../store/message-types.ts'

export const FOOTER = {
  reason: 'You received this email because you use {app}.',
  unsubscribe: 'Unsubscribe',
  consentReason: 'You received this email because this address was entered at {app}.',
} as const

export const FAILED = {
  failedTitle: "This didn't work",
  failedLead: 'Nothing was saved. Try again in a minute.',
  retryButton: 'Try again',
} as const

export const UNSUBSCRIBE = {
  askTitle: 'Unsubscribe from {app}?',
  askLead: '{app} will stop sending these emails to {email}.',
  askButton: 'Unsubscribe',
  doneTitle: "You're unsubscribed",
  doneLead: "{app} won't send any more of these emails to {email}.",
  onItsWay: 'An email that is already on its way may still arrive.',
  undoHint: 'Unsubscribed by mistake?',
  undoButton: 'Resubscribe',
  undoneTitle: "You're subscribed again",
  undoneLead: '{app} will send these emails to {email} again.',
} as const

/** Where messages have topics. */
export const TOPICS = {
  topicTitle: 'Unsubscribe from {topic}?',
  topicLead: '{app} will stop sending emails about {topic} to {email}.',
  topicButton: 'Unsubscribe from {topic}',
  topicDoneTitle: "You're unsubscribed from {topic}",
  topicDoneLead: "{app} won't send any more emails about {topic} to {email}.",
  topicUndoneTitle: "You're subscribed to {topic} again",
} as const

export const CHOICE = {
  allButton: 'Unsubscribe from everything',
  allDoneLead: "{app} won't send any more emails to {email}, except about your account, such as receipts.",
  choiceTitle: 'Emails about',
  choiceButton: 'Save',
  chosenTitle: 'Your choice is saved',
  chosenLead: '{app} will send {email} the emails you chose.',
} as const

/** Of double opt-in. */
export const CONFIRM = {
  confirmTitle: 'Confirm your email address',
  confirmLead: '{app} will then send emails to {email}.',
  confirmButton: 'Confirm',
  confirmedTitle: 'Your email address is confirmed',
  confirmedLead: '{app} can now send emails to {email}. You can close this page.',
  expiredTitle: 'This link has expired',
  expiredLead: '{app} can send a new one to {email}.',
  newLinkButton: 'Send a new link',
  newLinkTitle: 'Check your inbox',
  newLinkLead: 'A new link is on its way to {email}.',
  noLinkTitle: 'No email was sent',
  tooEarlyLead: 'A link was sent to {email} less than an hour ago. Check your spam folder, or try again in an hour.',
  noLinkLead: "{app} doesn't send new links. Ask {app} for help.",
  refusingTitle: 'There is nothing to confirm',
  refusingLead: "{email} doesn't get the emails that this link was for.",
} as const

/** The email of double opt-in. */
const REQUEST: OptInText = {
  subject: 'Confirm your email address for {{ app.name }}',
  body: `Someone entered this email address at {{ app.name }}. If it was you, confirm that you want emails from {{ app.name }}.

If it wasn't you, ignore this email.`,
  button: 'Confirm email address',
}

const TEXTS = { ...FOOTER, ...UNSUBSCRIBE, ...TOPICS, ...CHOICE, ...CONFIRM, ...FAILED } as const

export type TextName = keyof typeof TEXTS

/** `texts`: `{app}`, `{email}` and `{topic}` stand for values. `request`: with Liquid. */
export type BuiltIn = { texts: Readonly<Record<TextName, string>>; request: OptInText }

export const en: BuiltIn = { texts: TEXTS, request: REQUEST }
