export type Lazy<T> = {
  /** Opens on the first call and shares the result. After a failure the next call tries again. */
  get(): Promise<T>
  peek(): Promise<T> | null
}

export function createLazy<T>(open: () => Promise<T>): Lazy<T> {
  let loading: Promise<T> | null = null
  return {
    get: () =>
      (loading ??= open().catch((error: unknown) => {
        loading = null
        throw error
      })),
    peek: () => loading,
  }
}
