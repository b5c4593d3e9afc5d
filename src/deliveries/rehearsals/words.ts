/** What to know of a rehearsal beside its lines: the one wording for the dashboard and MCP. */
import type { Rehearsal } from './run.ts'

/** Sentences: how sure it is, and what was not looked at. */
export const sayRehearsal = ({ estimated, untried }: Pick<Rehearsal, 'estimated' | 'untried'>): string[] => [
  ...(estimated === 0 ? [] : [sayEstimated(estimated)]),
  ...(untried === 0 ? [] : [sayUntried(untried)]),
  'Whether somebody is subscribed, and their name, tags and fields, are taken as they are today, also for past events.',
  'How many mails a person may get a day or a week is not looked at, because that depends on the other messages too.',
]

const sayEstimated = (count: number): string =>
  `What browsers report of open pages is kept for 48 hours. ${count === 1 ? 'One of these is older, and was' : `${count.toLocaleString('en')} of these are older, and were`} judged by page views alone: somebody counts as there between two page views within half an hour, and as gone after the last, also where they stayed on that page.`

const sayUntried = (count: number): string =>
  `Whether the mail has all its values was looked at for the first ones only, and not for ${count.toLocaleString('en')}: one with conditions or filters takes long to fill in.`
