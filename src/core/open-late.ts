export type Late<T> = {
  /** Opens on the first call and shares the result. After a failure the next call tries again. */
  get(): Promise<T>
  peek(): Promise<T> | null
}

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
