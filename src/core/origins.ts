const MAX_ORIGIN_CHARACTERS = 255

/** null for sandboxes (`null`), files and invalid values. */
export function readOrigin(header: string | null): string | null {
  const url = header === null || header.length > 2_048 ? null : URL.parse(header)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  return url.origin.length > MAX_ORIGIN_CHARACTERS ? null : url.origin
}

/** One of these hosts or a subdomain, on any port. */
export function isOriginOf(header: string, hosts: readonly string[]): boolean {
  const origin = readOrigin(header)
  const host = origin === null ? null : new URL(origin).hostname
  return host !== null && hosts.some((one) => host === one || host.endsWith(`.${one}`))
}
