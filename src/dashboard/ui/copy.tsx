/** @jsxImportSource preact */
import { Icon } from './icon.tsx'

/** Copies an element's text; needs islands/page.ts. `what` is for screen readers. */
export const CopyButton = ({ from, what }: { from: string; what: string }) => (
  <button class="copy" type="button" data-copy={from}>
    <Icon name="copy" />
    <span aria-live="polite">Copy</span>
    <span class="unseen">{` ${what}`}</span>
  </button>
)
