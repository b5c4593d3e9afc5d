/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { ButtonKind } from './button.tsx'

type DialogProps = {
  id: string
  opener: string
  /** label for screen readers */
  about?: string
  kind?: ButtonKind
  title: string
  /** closes it without doing anything */
  closer?: string
  children: ComponentChildren
}

/** A confirmation. A popover, because it opens and closes without scripts. */
export const Dialog = ({ id, opener, about, kind = 'plain', title, closer = 'Cancel', children }: DialogProps) => (
  <>
    <button class={`button ${kind}`} type="button" popovertarget={id}>
      {opener}
      {about && <span class="unseen">{` ${about}`}</span>}
    </button>
    <dialog class="dialog" id={id} popover aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
      <button class="button plain close" type="button" popovertarget={id} popovertargetaction="hide">
        {closer}
      </button>
    </dialog>
  </>
)
