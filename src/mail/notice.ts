import type { Mailbox } from '../core/mail-addresses.ts'
import type { Notice, NoticeResult } from '../accounts/notices.ts'
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

export function findNoticeSender({ routes, clock, noteServer }: Dependencies, apps: MailSettings[]) {
  const own = apps.filter(({ smtpUrl }) => smtpUrl !== null)
  const route = [null, ...own].map(routes.findForNotice).find((found) => found !== null)
  if (!route) return null
  return async (notice: Notice, to: Mailbox): Promise<NoticeResult> => {
    const { from, dkim } = route
    const mail = writeMail(notice)
    const messageId = `notice-${crypto.randomUUID()}@${from.address.split('@')[1]}`
    const fields = { mail, from, replyTo: null, to, messageId, at: clock.now(), unsubscribeUrl: null, dkim }
    const composed = await composeFor(route.provider, fields)
    if (composed === null) return { is: 'failed', reason: 'dkim_key' }
    const outcome = await sendSoon(route.provider, composed)
    if (outcome.is === 'sent') return { is: 'sent' }
    noteAnswer({ noteServer }, { about: 'security notice', appId: null, server: route.login.server, outcome })
    return { is: outcome.is === 'unknown' ? 'unknown' : 'failed', reason: reasonOf(outcome) }
  }
}

function writeMail({ subject, paragraphs, link }: Notice) {
  const { light } = findTheme(null)
  const escape = Bun.escapeHTML
  const button = `<a href="${escape(link.url)}" class="link" style="color:${light.link}">${escape(link.text)}</a>`
  const html = [...paragraphs.map(escape), button].map((one) => `<p style="margin:0 0 16px">${one}</p>`).join('\n')
  const text = [...paragraphs, `${link.text}: ${link.url}`].join('\n\n')
  const facts = {
    subject,
    preheader: '',
    html,
    text,
    appName: SENDER,
    homeUrl: null,
    lang: 'en',
    texts: NO_TEXTS,
    logoUrl: null,
    colour: null,
    address: [],
    unsubscribeUrl: null,
  }
  return { subject, html: layOutHtml(facts), text: layOutText(facts) }
}
