import type { Browser } from './browser.ts'
import type { Pages } from './pages.ts'

/** Opens a stream of a page, as its script does. */
export async function openLive(pages: Pick<Pages, 'handle'>, browser: Browser, path: string) {
  const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const response = await pages.handle(path, { headers: { Cookie: cookie } })
  const reader = response.body?.getReader()
  let text = ''
  return {
    /** The data of the next message of that name. */
    async read<T>(name: string): Promise<T> {
      const message = new RegExp(`event: ${name}\\ndata: (.*)\\n\\n`)
      while (!message.test(text)) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`the stream ended without ${name}`)
        text += new TextDecoder().decode(value)
      }
      const [all = '', data = '{}'] = new RegExp(`^[^]*?${message.source}`).exec(text) ?? []
      text = text.slice(all.length)
      return JSON.parse(data)
    },
    leave: () => reader?.cancel(),
  }
}
