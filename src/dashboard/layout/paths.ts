/** The app page that a form's path belongs to; `/` if none. */
export const pageAbove = (pathname: string): string => /^\/apps\/[^/]+\/[^/]+/.exec(pathname)?.[0] ?? '/'
