/** @jsxImportSource preact */
import { Icon } from './icon.tsx'

/** Copies the text of an element; only where scripts run (islands/copy.ts). `what` is for who cannot see what is beside it. */
export const CopyButton = ({ from, what }: { from: string; what: string }) => (
  <button class="copy" type="button" data-copy={from}>
    <Icon name="copy" />
    <span aria-live="polite">Copy</span>
    <span class="unseen">{` ${what}`}</span>
  </button>
)
