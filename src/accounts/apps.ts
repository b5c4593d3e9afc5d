/** The apps that a key may speak of. */
import type { AppRow } from '../store/types.ts'

type Named = Pick<AppRow, 'publicId'>

/** The app with this public ID, if the key's account owns it; one of another account does not exist. */
export function findApp<App extends Named>({ apps }: { apps: readonly App[] }, publicId: string): App | null {
  for (const app of apps) if (app.publicId === publicId) return app
  return null
}

/** The one that a body names, by either name of the field. */
export function findNamedApp(access: { apps: readonly AppRow[] }, body: Record<string, unknown>): AppRow | undefined {
  const named = body.app ?? body.newsletter
  return typeof named === 'string' ? (findApp(access, named) ?? undefined) : undefined
}
