/** @jsxImportSource preact */
import { Badge } from './badge.tsx'

/** Shown only with scripts; announces the connection state. */
export const FeedTools = ({ zone }: { zone?: string }) => (
  <div class="feed-tools">
    {zone !== undefined && <span class="hint">{zone}</span>}
    <span role="status" data-feed-state>
      <Badge mood="good">Refreshing</Badge>
    </span>
    <button class="button plain" type="button" aria-pressed="false" data-feed-pause>
      Pause
    </button>
  </div>
)

/** Below the rows of a phone, which has no room for it above. On the pages with `FeedTools`. */
export const FeedZone = ({ zone }: { zone: string }) => <p class="hint feed-zone">Times are in {zone}.</p>

/** Shows the rows that arrived meanwhile; `noun`: the name of one row. */
export const FeedPending = ({ noun, plural = `${noun}s` }: { noun: string; plural?: string }) => (
  <div class="feed-pending">
    <button class="button primary" type="button" data-feed-show={noun} data-feed-plural={plural} hidden>
      Show new {plural}
    </button>
  </div>
)
