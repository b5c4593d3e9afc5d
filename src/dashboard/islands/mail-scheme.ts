/// <reference lib="dom" />
/** Previews of emails are light, or dark if that is chosen; the frames can't follow the page's own theme. */

const isDark = (frame: Element): boolean =>
  frame.closest('.mail')?.querySelector<HTMLInputElement>('.dark-mail > input')?.checked === true

/** The address of a preview in the colours that are chosen where `frame` is. */
export function inScheme(src: string, frame: Element): string {
  const url = new URL(src, location.href)
  url.searchParams.delete('scheme')
  if (isDark(frame)) url.searchParams.set('scheme', 'dark')
  return url.href
}
