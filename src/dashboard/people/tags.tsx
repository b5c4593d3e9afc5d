/** @jsxImportSource preact */
import { SentText } from '../ui/text.tsx'

const TAG_MOST = 40

/** An empty cell; hidden on phones. */
export const None = () => <span class="hint none">–</span>

/** Shows up to `most` tags, then the number of others. */
export const Tags = ({ tags, most = Infinity }: { tags: string[]; most?: number }) =>
  tags.length === 0 ? (
    <None />
  ) : (
    <span class="tags">
      {tags.slice(0, most).map((tag) => (
        <span key={tag} class="tag">
          <SentText most={TAG_MOST}>{tag}</SentText>
        </span>
      ))}
      {tags.length > most && <span class="hint">+{tags.length - most}</span>}
    </span>
  )
