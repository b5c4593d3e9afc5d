import { type LimitsText, WEEK } from '../../accounts/sender-settings.ts'

export const SETTING_LABELS = new Map(
  Object.entries({
    fromName: 'Name',
    fromEmail: 'Address',
    otherFromEmails: 'Other addresses',
    replyTo: 'Replies go to',
    postalAddress: 'Postal address',
    logoUrl: 'Logo',
    colour: 'Colour',
    perSecond: 'Emails per second',
    connections: 'Connections at a time',
    giveUpHours: 'Give up after',
    perPersonDay: 'Lifecycle emails per day',
    perPersonWeek: 'Lifecycle emails per week',
    optIn: 'Double opt-in',
    complaintLimit: 'Brake for complaints',
    bounceLimit: 'Brake for bounces',
  }),
)
/** Never shown, because they are secret or long. */
export const UNSHOWN_LABELS = new Map(
  Object.entries({
    layout: 'Layout',
    texts: 'Texts',
    smtpUrl: 'Mail server',
    dkimKey: 'DKIM signature',
    bounceSecret: 'Bounce reports',
    hookSecrets: 'Webhooks',
  }),
)

/** The labels of settings, as the audit log names them. */
export function describeSettings(names: string): string {
  const labels = names.split(/, ?/).map((name) => {
    if (name === 'sendWindow') return 'Sending hours'
    return SETTING_LABELS.get(name) ?? UNSHOWN_LABELS.get(name.startsWith('dkim') ? 'dkimKey' : name) ?? name
  })
  return [...new Set(labels)].join(', ')
}

export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

export const describeWindow = ({ days, windowFrom, windowUntil }: LimitsText): string => {
  const which = days.length === WEEK.length ? 'every day' : days.map((day) => DAYS[day]).join(', ')
  return windowFrom === '' ? which : `${which}, ${windowFrom} to ${windowUntil}`
}
