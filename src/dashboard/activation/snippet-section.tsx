/** @jsxImportSource preact */
import { snippetCode, type SnippetSource } from '../../visits/snippet-code.ts'
import { makeSnippetPolicy } from '../../visits/snippet-tag.ts'
import { pathOf } from '../layout/frame.tsx'
import { CodeBlock, CodeTabs } from '../ui/code.tsx'

type SnippetProps = {
  source: SnippetSource
  /** whether page views add people */
  addsPeople: boolean
  appId: string
}

/** The tag for the customer's pages, and what a strict policy must let through. */
export const SnippetSection = ({ source, addsPeople, appId }: SnippetProps) => (
  <section>
    <h2>Tag for your pages</h2>
    <p>
      It reports the paths that signed-in people open, so that nobody is written to about a page that is open before
      them. Under 2 KB compressed, no cookies, and nothing of anyone whom your server has not signed.
    </p>
    <CodeTabs name="tag" label="Form of the tag" languages={snippetCode(source)} />
    {addsPeople ? (
      <p>
        Pages add people whom this app does not know yet, as <a href={pathOf(appId, 'settings')}>Settings</a> allows.
      </p>
    ) : (
      <p>
        Only views of people whom this app knows are kept: add the others with <code>createContact</code> in an event of
        your server, or let pages add them in <a href={pathOf(appId, 'settings')}>Settings</a>.
      </p>
    )}
    <p class="hint">
      A page with a <code>Content-Security-Policy</code> needs these sources beside its own:
    </p>
    <CodeBlock id="policy" label="Content-Security-Policy">
      {makeSnippetPolicy(source)}
    </CodeBlock>
  </section>
)
