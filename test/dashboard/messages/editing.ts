/** An account whose first app has two drafts, and the editor's form. */
import { afterEach, beforeEach } from 'bun:test'
import type { MailSettings } from '../../../src/store/message-types.ts'
import { publicId } from '../../../src/core/ids.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { recordEvent } from '../events/recording.ts'

type Sent = { email?: string; event?: string; properties?: object; firstName?: string }

async function openEditing() {
  const pages: AccountPages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  const app = await appOf(pages)
  const browser = await pages.signedIn()
  const messages = () => pages.store.listMessages(app.id)
  const pathOf = (id: number) => pages.at(`messages/${publicId('msg', id)}`)
  /** The first draft, as stored. */
  const draft = async () => {
    const [first] = await messages()
    if (!first) throw new Error('no draft')
    return first
  }
  const by = { accountId: pages.begun.accountId, appId: app.id, actor: 'test' }
  return {
    ...pages,
    app,
    browser,
    messages,
    draft,
    pathOf,
    /** The editor of the first draft. */
    path: pathOf((await draft()).id),
    async event({ email = 'bob@example.com', event = 'results_ready', properties = {}, firstName }: Sent = {}) {
      const { contactId } = await recordEvent(pages, app, { email, name: event, properties, firstName })
      return contactId
    },
    set: (settings: Partial<MailSettings>) => pages.store.setMailSettings({ ...by, at: pages.clock.now(), settings }),
    /** Submits the editor's form with some changes, by one of its buttons. */
    async press(path: string, action: string, changes: Record<string, string> = {}, as: Browser = browser) {
      const { html } = await browser.get(path)
      return as.post(path, { ...(await fieldsOf(html)), ...changes, do: action })
    },
  }
}

type Editing = Awaited<ReturnType<typeof openEditing>>

/** Opened for each test. */
export function useEditing(): Editing {
  const editing = {} as Editing
  beforeEach(async () => void Object.assign(editing, await openEditing()))
  afterEach(() => editing.close())
  return editing
}

/** Form fields of the editor. */
export async function fieldsOf(html: string): Promise<Record<string, string>> {
  const fields: Record<string, string> = {}
  let [select, area] = ['', '']
  await new HTMLRewriter()
    .on('#editor input', {
      element(element) {
        const [name, type] = [element.getAttribute('name') ?? '', element.getAttribute('type')]
        if (type === 'radio' && !element.hasAttribute('checked')) return
        fields[name] = plain(element.getAttribute('value') ?? '')
      },
    })
    .on('#editor select', { element: (element) => void (select = element.getAttribute('name') ?? '') })
    .on('#editor option', {
      element(element) {
        // inside a datalist
        if (select === '' || (fields[select] !== undefined && !element.hasAttribute('selected'))) return
        fields[select] = plain(element.getAttribute('value') ?? '')
      },
    })
    .on('#editor textarea', {
      element(element) {
        area = element.getAttribute('name') ?? ''
        fields[area] = ''
      },
      text: (chunk) => void (fields[area] += plain(chunk.text)),
    })
    .on('#editor datalist', { element: () => void (select = '') })
    .transform(new Response(html))
    .text()
  // browsers drop the first line feed
  for (const name of ['mail.body']) fields[name] = (fields[name] ?? '').replace(/^\n/, '')
  return fields
}

const plain = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
