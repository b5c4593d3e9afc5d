/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { ButtonKind } from './button.tsx'

type DialogProps = {
  id: string
  opener: string
  /** what the button is about, for who does not see what stands beside it */
  about?: string
  kind?: ButtonKind
  title: string
  children: ComponentChildren
}

/**
 * A question before something is done, with the button that opens it. A popover, because the browser opens and closes
 * it by itself: without script, with Escape, and with a click beside it.
 */
export const Dialog = ({ id, opener, about, kind = 'plain', title, children }: DialogProps) => (
  <>
    <button class={`button ${kind}`} type="button" popovertarget={id}>
      {opener}
      {about && <span class="unseen">{` ${about}`}</span>}
    </button>
    <dialog class="dialog" id={id} popover aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
      <button class="button plain close" type="button" popovertarget={id} popovertargetaction="hide">
        Cancel
      </button>
    </dialog>
  </>
)
