import type { Mailbox } from '../core/mail-addresses.ts'
import type { Notice, NoticePart, NoticeResult, NoticeSender } from '../accounts/notices.ts'
import type { Clock } from '../core/clock.ts'
import type { MailSettings } from '../accounts/sender-settings.ts'
import { NO_TEXTS } from '../accounts/app-texts.ts'
import { layOutHtml, layOutText } from './layout.ts'
import { findTheme } from './theme.ts'
import { composeFor, noteAnswer, type NoteServer, reasonOf } from './provider.ts'
import type { Routes } from './routes.ts'
import { sendSoon } from './test-mail.ts'

type Dependencies = { routes: Routes; clock: Clock; noteServer: NoteServer }

const SENDER = 'Eventpost'
const TURN_OFF = 'Turn off this email'

/** By the installation's server, else by the first of the apps' own. */
export function findNoticeSender(deps: Dependencies, apps: MailSettings[]) {
  const own = apps.filter(({ smtpUrl }) => smtpUrl !== null)
  const route = [null, ...own].map(deps.routes.findForNotice).find((found) => found !== null)
  return route ? createSend(deps, route, 'security notice') : null
}

export function listNoticeSenders(deps: Dependencies, apps: MailSettings[]): NoticeSender[] {
  const own = apps.filter(({ smtpUrl }) => smtpUrl !== null)
  const [first = null] = apps.filter(({ fromEmail }) => fromEmail !== null)
  const routes = [
    deps.routes.findForNotice(null),
    deps.routes.findForAlerts(first),
    ...own.map(deps.routes.findForNotice),
  ]
  return routes
    .filter((route) => route !== null)
    .map((route) => ({ server: route.name, send: createSend(deps, route, 'alert') }))
}

type NoticeRoute = NonNullable<ReturnType<Routes['findForNotice']>>

const createSend =
  ({ clock, noteServer }: Dependencies, { from, dkim, provider, login }: NoticeRoute, about: string) =>
  async (notice: Notice, to: Mailbox): Promise<NoticeResult> => {
    const mail = writeMail(notice)
    const messageId = `notice-${notice.id ?? crypto.randomUUID()}@${from.address.split('@')[1]}`
    const unsubscribeUrl = notice.unsubscribeUrl ?? null
    const fields = { mail, from, replyTo: null, to, messageId, at: clock.now(), unsubscribeUrl, dkim }
    const composed = await composeFor(provider, fields)
    if (composed === null) return { is: 'failed', reason: 'dkim_key' }
    const outcome = await sendSoon(provider, composed)
    if (outcome.is === 'sent') {
      login.outage.noteSent()
      return { is: 'sent' }
    }
    noteAnswer({ noteServer }, { about, appId: null, server: login.server, outcome })
    return { is: outcome.is === 'unknown' ? 'unknown' : 'failed', reason: reasonOf(outcome) }
  }

const escape = Bun.escapeHTML
const SPACE = 'margin:0 0 16px'

const partOf = (part: NoticePart): string => {
  if (typeof part === 'string') return `<p style="${SPACE}">${escape(part)}</p>`
  if ('heading' in part)
    return `<h2 style="margin:24px 0 8px;font-size:16px;line-height:24px">${escape(part.heading)}</h2>`
  const items = part.items.map((item) => `<li style="margin:0 0 8px">${escape(item)}</li>`)
  return `<ul style="${SPACE};padding:0 0 0 20px">${items.join('')}</ul>`
}

const textOf = (part: NoticePart): string => {
  if (typeof part === 'string') return part
  return 'heading' in part ? part.heading : part.items.map((item) => `- ${item}`).join('\n')
}

function writeMail({ subject, paragraphs, link, unsubscribeUrl, reason }: Notice) {
  const { light } = findTheme(null)
  const button = `<a href="${escape(link.url)}" class="link" style="color:${light.link}">${escape(link.text)}</a>`
  const html = [...paragraphs.map(partOf), `<p style="${SPACE}">${button}</p>`].join('\n')
  const text = [...paragraphs.map(textOf), `${link.text}: ${link.url}`].join('\n\n')
  const facts = {
    subject,
    preheader: '',
    html,
    text,
    appName: SENDER,
    homeUrl: null,
    lang: 'en',
    texts:
      reason === undefined ? NO_TEXTS : { ...NO_TEXTS, texts: { ...NO_TEXTS.texts, reason, unsubscribe: TURN_OFF } },
    logoUrl: null,
    colour: null,
    address: [],
    unsubscribeUrl: unsubscribeUrl ?? null,
  }
  return { subject, html: layOutHtml(facts), text: layOutText(facts) }
}
