/** @jsxImportSource preact */
import { SentText } from '../ui/text.tsx'

const TAG_MOST = 40

/** Where a table has nothing to say; on a phone the line is left out. */
export const None = () => <span class="hint none">–</span>

/** What somebody was marked with; beyond `most`, how many more. */
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
      {tags.length > most && <span class="hint">and {tags.length - most} more</span>}
    </span>
  )
