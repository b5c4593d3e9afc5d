/** Drizzle's error has the statement and its values in its message, such as the hash of an API key. */
export const withoutQuery = (error: unknown): unknown =>
  error instanceof Error && 'query' in error && 'params' in error
    ? withoutQuery(error.cause ?? new Error('A statement failed'))
    : error

/** For logs. */
export const describeError = (error: unknown): string => String(withoutQuery(error))

/** For people: without the name. */
export function messageOf(error: unknown): string {
  const source = withoutQuery(error)
  return source instanceof Error ? source.message : String(source)
}

/** For logs, of what should not happen. */
export function describeWithStack(error: unknown): string {
  const source = withoutQuery(error)
  return source instanceof Error ? `${source.name}: ${source.message}\n${source.stack ?? ''}` : String(source)
}
