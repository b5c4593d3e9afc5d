export type Late<T> = {
  /** Opens with the first call; who comes meanwhile waits for the same. Rejects with why it failed. */
  get(): Promise<T>
  /** What was opened or is being opened; null before, and after it failed. */
  peek(): Promise<T> | null
}

/** What is opened when somebody first needs it, once. What failed is tried again with the next call. */
export function openLate<T>(open: () => Promise<T>): Late<T> {
  let opened: Promise<T> | null = null
  return {
    get: () =>
      (opened ??= open().catch((error: unknown) => {
        opened = null
        throw error
      })),
    peek: () => opened,
  }
}
