/// <reference lib="dom" />

/** Before a stream that the browser has given up is tried again. */
const RETRY_MS = 3_000

export type StreamState = 'open' | 'interrupted' | 'signed-out' | 'replaced'

type Listener = {
  /** the address as it is to be asked now, with the cursor of what was seen last */
  url(): string
  /** messages by their name; `data` is what was sent as JSON */
  on: Record<string, (data: unknown) => void>
  onState(state: StreamState): void
}

/**
 * Follows server-sent events for as long as the page is looked at. It comes back after any interruption, and lets go
 * while the page is hidden: a browser opens six connections to a server, and each tab would hold one. A stream that was
 * replaced comes back only when the page is looked at again, or two pages would replace each other for ever.
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
  /** Every error is told: opening anew costs nothing, and brings the cursor of what was seen last. */
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

/** Why the server ended the stream, in its own sentence. */
function showReason(reason: string): void {
  const place = document.querySelector('[data-stream-reason]')
  if (place) place.textContent = reason
}

/** HEAD opens no stream, which could replace another one. */
async function isSignedOut(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: 'HEAD' })).status === 401
  } catch {
    return false
  }
}
