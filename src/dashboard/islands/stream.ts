/// <reference lib="dom" />

/** Delay before a closed stream is retried. */
const RETRY_MS = 3_000

export type StreamState = 'open' | 'interrupted' | 'signed-out' | 'replaced'

type Listener = {
  /** current URL, with the last cursor */
  url(): string
  /** handlers by message name; `data` is JSON */
  on: Record<string, (data: unknown) => void>
  onState(state: StreamState): void
}

/**
 * Follows server-sent events while the page is visible: browsers allow six connections per server. A replaced stream
 * reconnects only when the page is shown again, or two tabs would replace each other forever.
 */
export function openStream({ url, on, onState }: Listener): { close(): void } {
  let source: EventSource | null = null
  let again: ReturnType<typeof setTimeout> | undefined

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
      showReason('')
      onState('open')
    }
    opened.onerror = () => void giveUp(opened)
    opened.addEventListener('replaced', ({ data }: MessageEvent<string>) => {
      close()
      showReason(JSON.parse(data) as string)
      onState('replaced')
    })
    for (const [name, take] of Object.entries(on)) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)))
    }
  }
  /** Any error reconnects, with the last cursor. */
  const giveUp = async (failed: EventSource): Promise<void> => {
    if (failed !== source) return
    close()
    if (await isSignedOut(url())) return onState('signed-out')
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

/** HEAD doesn't open a stream, which could replace another. */
async function isSignedOut(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: 'HEAD' })).status === 401
  } catch {
    return false
  }
}
