/// <reference lib="dom" />
/** Frames with previews of emails: light, or dark if that is chosen, because they can't follow the page's own theme. */

/** Without scripts, the page may read the email's height. */
export const SANDBOX = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox'

const isDark = (frame: Element): boolean =>
  frame.closest('.mail')?.querySelector<HTMLInputElement>('.dark-mail > input')?.checked === true

/** The address of a preview in the colours that are chosen where `frame` is. */
export function inScheme(src: string, frame: Element): string {
  const url = new URL(src, location.href)
  url.searchParams.delete('scheme')
  if (isDark(frame)) url.searchParams.set('scheme', 'dark')
  return url.href
}

/** Gives the frame the height of its email, up to what the stylesheet allows. The editor's frame fills its column. */
export function fitHeight(frame: HTMLIFrameElement): void {
  const screen = frame.closest<HTMLElement>('.screen')
  const body = frame.contentDocument?.body
  if (!screen || !body || frame.closest('.editor')) return
  const { marginBottom } = getComputedStyle(body)
  const bars = screen.offsetHeight - frame.clientHeight
  screen.style.height = `${Math.ceil(body.getBoundingClientRect().bottom + parseFloat(marginBottom)) + bars}px`
}
