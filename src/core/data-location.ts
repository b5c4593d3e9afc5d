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
