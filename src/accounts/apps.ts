import type { AppRow } from '../store/types.ts'

type Named = Pick<AppRow, 'publicId'>

/** Apps of other accounts don't exist for this key. */
export function findApp<App extends Named>({ apps }: { apps: readonly App[] }, publicId: string): App | null {
  for (const app of apps) if (app.publicId === publicId) return app
  return null
}

/** The one that a body names, by either name of the field. */
export function findNamedApp<App extends Named>(
  access: { apps: readonly App[] },
  body: Record<string, unknown>,
): App | undefined {
  const named = body.app ?? body.newsletter
  return typeof named === 'string' ? (findApp(access, named) ?? undefined) : undefined
}
