/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

/** `error`: of the last action. `problem`: stays until it is solved. */
export type NoticeKind = 'error' | 'problem' | 'caution' | 'done' | 'info'

const SIGNS: Record<NoticeKind, { icon: IconName; word: string }> = {
  error: { icon: 'warning', word: 'Error: ' },
  problem: { icon: 'warning', word: 'Problem: ' },
  caution: { icon: 'warning', word: 'Caution: ' },
  done: { icon: 'check', word: 'Done: ' },
  info: { icon: 'info', word: 'Note: ' },
}

export const Notice = ({ kind, children }: { kind: NoticeKind; children: ComponentChildren }) => (
  <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : undefined}>
    <Icon name={SIGNS[kind].icon} />
    <div>
      <span class="unseen">{SIGNS[kind].word}</span>
      {children}
    </div>
  </div>
)

/** Flash message. */
export const Flash = ({ kind, children }: { kind: 'done' | 'caution'; children: ComponentChildren }) => (
  <div role="status">
    <Notice kind={kind}>{children}</Notice>
  </div>
)
