import { NoAnswer } from './faults.ts'

/** For a server that no longer answers, which the client would await for ever. */
export async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new NoAnswer('PostgreSQL did not respond in time')), ms)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
