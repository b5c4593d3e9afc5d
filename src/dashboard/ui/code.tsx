/** @jsxImportSource preact */
import { CopyButton } from './copy.tsx'
import { Tabs } from './tabs.tsx'

type CodeProps = { id: string; label: string; children: string }

/** Lines to copy as a whole; long ones scroll, also by keyboard. `label` says what they are, `id` is their own on the page. */
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

/** The same code in several languages. */
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
