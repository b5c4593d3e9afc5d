import { MOST_WATCHERS } from '../../events/feed.ts'
import type { PageDependencies, Viewer } from './viewer.ts'
import { readSessionToken } from '../access/session-cookie.ts'

/** Half the idle timeout of connections; proxies wait longer. */
const KEEP_ALIVE_MS = 5_000
/** Retry delay of the browser. */
const RETRY_MS = 1_000
/** Slow readers are disconnected and return with a cursor. */
const WAITING_BYTES = 256 * 1024

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // disables buffering in nginx
  'X-Accel-Buffering': 'no',
}

/** `data` is sent as JSON. `id` is the cursor that the browser returns as Last-Event-ID. */
export type Message = { name: string; data: unknown; id?: string }
export type Send = (message: Message) => void

export type Stream = {
  send: Send
  end(): void
  /** Called every five seconds with the keep-alive. */
  onBeat(beat: () => void): void
}

/**
 * Sends server-sent events until the reader leaves or `end` is called. `subscribe` returns a function that
 * unsubscribes, or null during shutdown (503). HEAD subscribes to nothing.
 */
export function streamEvents(request: Request, subscribe: (stream: Stream) => (() => void) | null): Response {
  if (request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
  const encoder = new TextEncoder()
  const beats: (() => void)[] = []
  const left = Promise.withResolvers<void>()
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null

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

/** Shown when a newer stream of the same member or account replaces this one. */
const REPLACED = `Too many live pages are open (at most ${MOST_WATCHERS.member} per member, ${MOST_WATCHERS.account} per account). Close some, then reload.`

/** Ends a stream for good; the page shows the reason. */
export type EndFor = (reason: string) => void

/**
 * Streams committed changes (events/feed.ts). `sendChanges` runs at the start and after each change, never
 * concurrently, and may return a delay for the next run. `restMs`: minimum time between runs, if not the usual. Ends
 * with the session or the membership.
 */
export const streamChanges = (
  { feed, sessions, store, baseUrl }: Pick<PageDependencies, 'feed' | 'sessions' | 'store' | 'baseUrl'>,
  request: Request,
  { member, account, app }: Viewer,
  sendChanges: (send: Send, endFor: EndFor) => Promise<void | number>,
  restMs?: number,
): Response =>
  streamEvents(request, ({ send, end, onBeat }) => {
    const token = readSessionToken(request, baseUrl)
    const isAllowedNow = async (): Promise<boolean> => {
      const signedIn = token === null ? null : await sessions.peek(token)
      const memberships = signedIn ? await store.listAppAccess(signedIn.member.id) : []
      const membership = memberships.find(({ appId }) => appId === app.publicId)
      const isAllowed = membership !== undefined && (!membership.requiresTwoStep || account.requiresTwoStep)
      if (!isAllowed) end()
      return isAllowed
    }
    const endFor: EndFor = (reason) => {
      send({ name: 'ended', data: reason })
      end()
    }
    onBeat(() => void isAllowedNow())
    return feed.watch({
      memberId: member.id,
      accountId: account.id,
      restMs,
      onChange: async () => ((await isAllowedNow()) ? sendChanges(send, endFor) : undefined),
      onEnd: (reason) => {
        if (reason === 'replaced') endFor(REPLACED)
        else end()
      },
    })
  })
