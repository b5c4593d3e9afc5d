import type { AppRow } from '../store/types.ts'

type Named = Pick<AppRow, 'publicId'>

/** Apps of other accounts don't exist for this key. */
export function findApp<App extends Named>({ apps }: { apps: readonly App[] }, publicId: string): App | null {
  for (const app of apps) if (app.publicId === publicId) return app
  return null
}

export function findNamedApp(access: { apps: readonly AppRow[] }, body: Record<string, unknown>): AppRow | undefined {
  const named = body.app ?? body.newsletter
  return typeof named === 'string' ? (findApp(access, named) ?? undefined) : undefined
}
