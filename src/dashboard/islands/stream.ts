/// <reference lib="dom" />

/** Delay before a closed stream is retried. */
const RETRY_MS = 3_000

/** `gone`: what the page shows no longer exists. */
export type StreamState = 'open' | 'interrupted' | 'signed-out' | 'ended' | 'gone'

type Listener = {
  /** current URL, with the last cursor */
  url(): string
  /** handlers by message name; `data` is JSON */
  on: Record<string, (data: unknown) => void>
  onState(state: StreamState): void
}

/**
 * Follows server-sent events while the page is visible: browsers allow six connections per server. A stream that
 * the server ended reconnects only when the page is shown again, or two tabs would replace each other forever.
 */
export function openStream({ url, on, onState }: Listener): { close(): void } {
  let source: EventSource | null = null
  let again: ReturnType<typeof setTimeout> | undefined
  /** the server gave a reason, which stays */
  let hasEnded = false

  const close = (): void => {
    clearTimeout(again)
    source?.close()
    source = null
  }
  const open = (): void => {
    close()
    if (document.hidden) return
    const opened = new EventSource(url())
    source = opened
    opened.onopen = () => {
      hasEnded = false
      showReason('')
      onState('open')
    }
    opened.onerror = () => void giveUp(opened)
    opened.addEventListener('ended', ({ data }: MessageEvent<string>) => {
      close()
      hasEnded = true
      showReason(JSON.parse(data) as string)
      onState('ended')
    })
    for (const [name, take] of Object.entries(on)) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)))
    }
  }
  /** Any error reconnects, with the last cursor. */
  const giveUp = async (failed: EventSource): Promise<void> => {
    if (failed !== source) return
    close()
    const answer = await askHead(url())
    if (answer?.status === 401) return onState('signed-out')
    if (answer?.status === 404 && isOwn(answer)) {
      onState('gone')
      if (!hasEnded) showReason('This page is no longer available.')
      return
    }
    onState('interrupted')
    again = setTimeout(open, RETRY_MS)
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : source || open()))
  open()
  return { close }
}

/** The reason the server gave for ending the stream. */
function showReason(reason: string): void {
  const place = document.querySelector('[data-stream-reason]')
  if (place) place.textContent = reason
}

/** HEAD doesn't open a stream, which could replace another. null: no answer. */
async function askHead(url: string): Promise<Response | null> {
  try {
    return await fetch(url, { method: 'HEAD' })
  } catch {
    return null
  }
}

/** While the server restarts, a proxy may answer. */
const isOwn = ({ headers }: Response): boolean => headers.get('X-Request-Id')?.startsWith('req_') === true
