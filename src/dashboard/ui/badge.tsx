/** @jsxImportSource preact */
/** `off`: ended without effect. */
export type Mood = 'quiet' | 'off' | 'good' | 'caution' | 'bad'

/** The shape differs too, so that colour isn't the only sign. */
export const Badge = ({ mood = 'quiet', children }: { mood?: Mood; children: string }) => (
  <span class={`badge ${mood}`}>{children}</span>
)
