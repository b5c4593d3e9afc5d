/** Where a page is, as browsers say it in the headers Origin and Referer. */
const MAX_ORIGIN_CHARACTERS = 255

/** The origin in such a header, or null for what has none: a sandbox (`null`), a file, nonsense. */
export function readOrigin(header: string | null): string | null {
  const url = header === null || header.length > 2_048 ? null : URL.parse(header)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  return url.origin.length > MAX_ORIGIN_CHARACTERS ? null : url.origin
}

/** Whether it is of one of these hosts or below, on whatever port. No page of ours are `null` and nonsense. */
export function isOriginOf(header: string, hosts: readonly string[]): boolean {
  const origin = readOrigin(header)
  const host = origin === null ? null : new URL(origin).hostname
  return host !== null && hosts.some((one) => host === one || host.endsWith(`.${one}`))
}
