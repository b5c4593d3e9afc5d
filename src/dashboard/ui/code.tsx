/** @jsxImportSource preact */
import { CopyButton } from './copy.tsx'
import { Tabs } from './tabs.tsx'

type CodeProps = {
  id: string
  label: string
  /** for screen readers, if other blocks of the page have this label */
  name?: string
  children: string
}

/** A code block with a copy button; long lines scroll, also by keyboard. */
export const CodeBlock = ({ id, label, name = label, children }: CodeProps) => (
  <figure class="code">
    <figcaption>
      <span>{label}</span>
      <CopyButton from={id} what={name} />
    </figcaption>
    <pre class="whole" id={id} tabindex={0} role="region" aria-label={name}>
      <code>{children}</code>
    </pre>
  </figure>
)

export type Language = { id: string; name: string; blocks: { label: string; code: string }[]; hint?: string }

type CodeTabsProps = { name: string; label: string; languages: Language[]; chosen?: string | null }

/** `chosen`: the language that the reader chose last; undefined if these are no languages. */
export const CodeTabs = ({ name, label, languages, chosen }: CodeTabsProps) => (
  <Tabs
    name={name}
    label={label}
    selected={languages.find(({ id }) => id === chosen)?.id}
    areLanguages={chosen !== undefined}
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
