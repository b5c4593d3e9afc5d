/** @jsxImportSource preact */
import { cutText, readVisibleText } from '../../core/visible-text.ts'

/** Code points of a run that are named; of more, how many there are. */
const NAMED = 3

/**
 * What somebody sent: its direction stays its own, and what would not be seen is named. `most` characters at most, for
 * a line in a list.
 */
export function SentText({ children, most }: { children: string; most?: number }) {
  const { text, isCut } = most === undefined ? { text: children, isCut: false } : cutText(children, most)
  return (
    <bdi>
      {readVisibleText(text).map((piece, index) =>
        'text' in piece ? piece.text : <Hidden key={index} names={piece.hidden} />,
      )}
      {isCut && '…'}
    </bdi>
  )
}

const Hidden = ({ names }: { names: string[] }) => (
  <span class="hidden-text" title="A character that cannot be seen">
    {names.length > NAMED ? `${names.slice(0, NAMED).join(' ')} and ${names.length - NAMED} more` : names.join(' ')}
  </span>
)

/** A line for a terminal: it breaks between its words, and not after the hyphens in them. */
export const Command = ({ children }: { children: string }) => (
  <code class="command">
    {children.split(' ').map((word, index) => [index > 0 && ' ', <span key={index}>{word}</span>])}
  </code>
)

/** A sentence of ours in which names stand between backticks. */
export const Ticked = ({ children }: { children: string }) => (
  <>{children.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>
)
