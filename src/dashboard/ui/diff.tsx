/** @jsxImportSource preact */
type DiffLine = { kind: 'same' | 'added' | 'removed' | 'moved'; text: string }

const SIGNS = { same: ' ', added: '+', removed: '-', moved: '↕' } as const
const LABELS = { same: '', added: 'Added: ', removed: 'Removed: ', moved: 'Moved: ' } as const

export const Diff = ({ label, lines }: { label: string; lines: DiffLine[] }) => (
  <div class="diff" role="region" aria-label={label}>
    <ol>
      {lines.map(({ kind, text }, index) => (
        <li key={index} class={kind}>
          <span aria-hidden="true">{SIGNS[kind]}</span>
          <code>
            <span class="unseen">{LABELS[kind]}</span>
            {text}
          </code>
        </li>
      ))}
    </ol>
  </div>
)
