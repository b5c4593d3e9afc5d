import { MOST_WATCHERS } from '../../events/feed.ts'
import type { PageParts, Viewer } from './viewer.ts'
import { readSessionToken } from '../access/session-cookie.ts'

/** Half of the silence after which a connection is closed; proxies wait longer. */
const KEEP_ALIVE_MS = 5_000
/** Then a browser tries again by itself. */
const RETRY_MS = 1_000
/** Whoever does not read what waits is let go, and comes back with a cursor. */
const WAITING_BYTES = 256 * 1024

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // nginx would gather it
  'X-Accel-Buffering': 'no',
}

/** `data` goes as JSON. `id` is the cursor that the browser sends as Last-Event-ID when it comes back. */
export type Message = { name: string; data: unknown; id?: string }
export type Send = (message: Message) => void

export type Stream = {
  send: Send
  end(): void
  /** Calls back every five seconds, while the connection is kept alive. */
  onBeat(beat: () => void): void
}

/**
 * Answers with server-sent events until the reader leaves or `end` is called. `subscribe` begins, and returns what stops
 * it; null while the service stops, which is answered 503.
 */
export function streamEvents(request: Request, subscribe: (stream: Stream) => (() => void) | null): Response {
  const encoder = new TextEncoder()
  const beats: (() => void)[] = []
  const left = Promise.withResolvers<void>()
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null

  /** The reader has closed it. */
  const leave = (): void => {
    controller = null
    left.resolve()
  }
  const end = (): void => {
    controller?.close()
    leave()
  }
  const write = (text: string): void => {
    controller?.enqueue(encoder.encode(text))
    if (controller && (controller.desiredSize ?? 0) <= 0) end()
  }
  const body = new ReadableStream<Uint8Array>(
    { start: (opened) => void (controller = opened), cancel: leave },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  )
  write(`retry: ${RETRY_MS}\n\n`)
  const stop = subscribe({
    send: (message) => write(toText(message)),
    end,
    onBeat: (beat) => void beats.push(beat),
  })
  if (!stop) return new Response(null, { status: 503, headers: { 'Retry-After': '5' } })
  const alive = setInterval(() => {
    write(':\n\n')
    for (const beat of beats) beat()
  }, KEEP_ALIVE_MS)
  request.signal.addEventListener('abort', leave)
  void left.promise.then(() => {
    clearInterval(alive)
    stop()
  })
  return new Response(body, { headers: STREAM_HEADERS })
}

const toText = ({ name, data, id }: Message): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** The page stops following and shows this sentence, because another page of the same people took its place. */
const REPLACED: Message = {
  name: 'replaced',
  data: `Too many live pages are open (at most ${MOST_WATCHERS.member} per member, ${MOST_WATCHERS.account} per account). Reload to follow again.`,
}

/**
 * Streams what is committed (events/feed.ts): `look` is called at the start and after each change, one call after another,
 * and sends what is new; it may give the milliseconds after which to be called again. Ends with the session, when the
 * member loses the app, and when newer streams of the member or the account take its place.
 */
export const streamChanges = (
  { feed, sessions, store, baseUrl }: PageParts,
  request: Request,
  { member, account, app }: Viewer,
  look: (send: Send) => Promise<void | number>,
): Response =>
  streamEvents(request, ({ send, end, onBeat }) => {
    const token = readSessionToken(request, baseUrl)
    const mayLook = async (): Promise<boolean> => {
      const signedIn = token === null ? null : await sessions.peek(token)
      const places = signedIn ? await store.listPlaces(signedIn.member.id) : []
      const place = places.find(({ appId }) => appId === app.publicId)
      const isAllowed = place !== undefined && (!place.requiresTwoStep || account.requiresTwoStep)
      if (!isAllowed) end()
      return isAllowed
    }
    onBeat(() => void mayLook())
    return feed.watch({
      memberId: member.id,
      accountId: account.id,
      onChange: async () => ((await mayLook()) ? look(send) : undefined),
      onEnd: (reason) => {
        if (reason === 'replaced') send(REPLACED)
        end()
      },
    })
  })
