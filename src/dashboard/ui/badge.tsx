/** @jsxImportSource preact */
export type Mood = 'quiet' | 'good' | 'caution' | 'bad'

/** A state in a word or two; the shape before it differs too, so that colour never speaks alone. */
export const Badge = ({ mood = 'quiet', children }: { mood?: Mood; children: string }) => (
  <span class={`badge ${mood}`}>{children}</span>
)
