import type { Warning } from '../core/refusals.ts'
import { pageKeyOf } from '../core/urls.ts'

type Result = { appId: number; email: string; url: string | null }

/** Forgets the oldest; a page that is not known yet causes no warning. */
const MOST_PAGES = 10_000

const SHARED: Warning = {
  field: 'properties',
  code: 'url_shared',
  message:
    "Another person's `url` has the same path and another query. Page views have no query, so rules can't tell whether this result was opened. Put the result's ID in the path. For one email per result, send `resultId`.",
}

/** Finds results of different people whose URLs differ in their query only. URLs without a query cost nothing. */
export function createSharedPaths() {
  const pages = new Map<string, Omit<Result, 'appId'>>()
  return {
    warn({ appId, email, url }: Result): Warning[] {
      if (url === null || !url.includes('?')) return []
      const key = `${appId} ${pageKeyOf(url)}`
      const before = pages.get(key)
      if (before === undefined && pages.size >= MOST_PAGES) pages.delete(pages.keys().next().value ?? '')
      if (before === undefined) pages.set(key, { email, url })
      return before !== undefined && before.email !== email && before.url !== url ? [SHARED] : []
    },
  }
}
