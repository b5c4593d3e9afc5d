/** The page of an app that a form or a part of it belongs to; the start where it belongs to none. */
export const pageAbove = (pathname: string): string => /^\/apps\/[^/]+\/[^/]+/.exec(pathname)?.[0] ?? '/'
