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

/** In the client's order. */
const USER_VARIABLES = ['PGUSERNAME', 'PGUSER', 'USER', 'USERNAME']

/** Where the user comes from if the URL has none; null: it has one. */
export function describeTakenUser(location: PostgresLocation): string | null {
  if (new URL(location.url).username !== '') return null
  const user = userOf(location)
  const variable = USER_VARIABLES.find((name) => process.env[name] === user)
  const from = variable === undefined ? "PostgreSQL's default" : `from the environment variable ${variable}`
  return `The address has no user, so Eventpost uses ${user} (${from}). Add the right one: postgres://USER@HOST/DATABASE.`
}

export const databaseOf = ({ url }: PostgresLocation): string => decodeURIComponent(new URL(url).pathname.slice(1))
