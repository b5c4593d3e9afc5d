/** Where the data is: in a folder with an SQLite database, or in PostgreSQL. */
export type DataLocation = { folder: string } | PostgresLocation

export type PostgresLocation = {
  url: string
  /** at most; of one process */
  connections: number
  /** false behind a pooler that gives each transaction another connection */
  prepares: boolean
}

/** For people: without the user, the password and the options. */
export function describeLocation(location: DataLocation): string {
  if ('folder' in location) return location.folder
  const { host, pathname } = new URL(location.url)
  return `postgres://${host}${pathname}`
}

/** Of the URL, else of PGUSER and so on, as the client decides. */
export const userOf = ({ url }: PostgresLocation): string =>
  String((new Bun.SQL(url, { max: 1 }).options as { username?: string }).username ?? '')

export const databaseOf = ({ url }: PostgresLocation): string => decodeURIComponent(new URL(url).pathname.slice(1))
