/** @jsxImportSource preact */
import { Fragment } from 'preact'
import { cleanText, cutText, readVisibleText } from '../../core/visible-text.ts'

/** Longer runs are counted instead. */
const NAMED = 3

type SentProps = { children: string; most?: number; end?: string }

/**
 * User input: isolates its direction and names invisible characters. `most` limits the length. `end`: what follows text
 * that isn't cut.
 */
export function SentText({ children, most, end }: SentProps) {
  const { text, isCut } = most === undefined ? { text: children, isCut: false } : cutText(children, most)
  return (
    <>
      <bdi>
        {readVisibleText(isCut ? text.trimEnd() : text).map((piece, index) =>
          'text' in piece ? piece.text : <Hidden key={index} names={piece.hidden} />,
        )}
        {isCut && '…'}
      </bdi>
      {!isCut && end}
    </>
  )
}

/** User input on one line, as far as there is room. */
export const OneLine = ({ children }: { children: string }) => (
  <span class="one-line" title={cleanText(children)}>
    <SentText>{children}</SentText>
  </span>
)

/** Where an email address can break into lines. */
const BREAKABLE = /(?<=@)|(?<=@[^@]*\.)/

/** Text that may be an email address, which breaks between its parts. */
export const Breakable = ({ children }: { children: string }) => (
  <>
    {children.split(BREAKABLE).map((part, index) => (
      <Fragment key={index}>
        {index > 0 && <wbr />}
        <SentText>{part}</SentText>
      </Fragment>
    ))}
  </>
)

/** A title's line has room for it on a phone. */
const SHORT_ADDRESS = 20

/** Short email addresses in it don't break. */
export const TitleText = ({ children }: { children: string }) => (
  <>
    {children.split(/(\S+@\S+)/).map((part, index) =>
      index % 2 === 1 && part.length <= SHORT_ADDRESS ? (
        <span key={index} class="unbroken">
          <SentText>{part}</SentText>
        </span>
      ) : (
        part !== '' && <Breakable key={index}>{part}</Breakable>
      ),
    )}
  </>
)

const Hidden = ({ names }: { names: string[] }) => (
  <span class="hidden-text" title="Invisible character">
    {names.length > NAMED ? `${names.slice(0, NAMED).join(' ')} and ${names.length - NAMED} more` : names.join(' ')}
  </span>
)

/** Longer words may not fit into a line of a phone. */
const LONG_WORD = 40

/** A shell command or other code; wraps between words, not at hyphens, and between the parts of long words. */
export const Command = ({ children }: { children: string }) => (
  <code class="command">
    {children
      .split(' ')
      .map((word, index) => [
        index > 0 && ' ',
        word.length > LONG_WORD ? <LongWord key={index}>{word}</LongWord> : <span key={index}>{word}</span>,
      ])}
  </code>
)

const LongWord = ({ children }: { children: string }) => (
  <>{children.split(/(?<=[_=./,:])/).map((part, index) => [index > 0 && <wbr key={index} />, part])}</>
)

/** Text with code between backticks. */
export const Ticked = ({ children }: { children: string }) => (
  <>{children.split('`').map((part, index) => (index % 2 === 0 ? part : <Command key={index}>{part}</Command>))}</>
)
