/** @jsxImportSource preact */
import { CopyButton } from './copy.tsx'
import { Tabs } from './tabs.tsx'

type CodeProps = { id: string; label: string; children: string }

/** A code block with a copy button; long lines scroll, also by keyboard. */
export const CodeBlock = ({ id, label, children }: CodeProps) => (
  <figure class="code">
    <figcaption>
      <span>{label}</span>
      <CopyButton from={id} what={label} />
    </figcaption>
    <pre class="whole" id={id} tabindex={0} role="region" aria-label={label}>
      <code>{children}</code>
    </pre>
  </figure>
)

export type Language = { id: string; name: string; blocks: { label: string; code: string }[]; hint?: string }

export const CodeTabs = ({ name, label, languages }: { name: string; label: string; languages: Language[] }) => (
  <Tabs
    name={name}
    label={label}
    tabs={languages.map((language) => ({
      id: language.id,
      name: language.name,
      content: (
        <>
          {language.hint && <p class="hint">{language.hint}</p>}
          {language.blocks.map((block, index) => (
            <CodeBlock key={index} id={`${name}-${language.id}-${index}`} label={block.label}>
              {block.code}
            </CodeBlock>
          ))}
        </>
      ),
    }))}
  />
)
