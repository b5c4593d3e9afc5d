import { Resolver } from 'node:dns/promises'
import type { ResolveCname, ResolveTxt } from '../accounts/sender-checks.ts'

const ANSWER_MS = 3_000
const PIECE_BYTES = 255
const NOTHING = ['ENOTFOUND', 'ENODATA']

type Options = { servers?: string[]; answerMs?: number }

/** `servers`: instead of this machine's, such as "127.0.0.1:53". */
export const createTxtResolver =
  (options: Options = {}): ResolveTxt =>
  (name) =>
    lookUp(options, (resolver) => resolver.resolveTxt(name).then((records) => joinPieces(records.flat()), readFault))

/** A chain of records counts as its first one. */
export const createCnameResolver =
  (options: Options = {}): ResolveCname =>
  (name) =>
    lookUp(options, (resolver) =>
      resolver.resolveCname(name).then(
        ([target]) => target ?? null,
        () => null,
      ),
    )

/** null: no answer in time. */
async function lookUp<Answer>(
  { servers, answerMs = ANSWER_MS }: Options,
  ask: (resolver: Resolver) => Promise<Answer>,
): Promise<Answer | null> {
  const resolver = new Resolver({ timeout: answerMs, tries: 1 })
  if (servers) resolver.setServers(servers)
  const timeout = Promise.withResolvers<null>()
  const timer = setTimeout(() => timeout.resolve(null), answerMs)
  try {
    return await Promise.race([ask(resolver), timeout.promise])
  } finally {
    clearTimeout(timer)
    resolver.cancel()
  }
}

/**
 * Bun 1.4.5 returns the 255-byte pieces of a long record as separate records: a piece after a full one belongs to it.
 */
function joinPieces(pieces: string[]): string[] {
  const records: string[] = []
  let isOpen = false
  for (const piece of pieces) {
    if (isOpen) records.push((records.pop() ?? '') + piece)
    else records.push(piece)
    isOpen = Buffer.byteLength(piece) === PIECE_BYTES
  }
  return records
}

const readFault = (error: unknown): string[] | null => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && NOTHING.some((one) => code.endsWith(one)) ? [] : null
}
