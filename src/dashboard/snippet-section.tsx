/** @jsxImportSource preact */
import { snippetCode, type SnippetSource } from '../core/snippet-code.ts'
import { makeSnippetPolicy } from '../core/snippet-tag.ts'
import { CodeBlock, CodeTabs } from './parts/code.tsx'

/** The tag for the customer's pages, and what a strict policy must let through (spec 4.5). */
export const SnippetSection = (source: SnippetSource) => (
  <section>
    <h2>Tag for your pages</h2>
    <p>
      It reports the paths that signed-in people open, so that nobody is written to about a page that is open before
      them. Under 2 KB, no cookies, and nothing of anyone whom your server has not signed.
    </p>
    <CodeTabs name="tag" label="Form of the tag" languages={snippetCode(source)} />
    <p class="hint">
      Pinned, browsers run exactly this script and no other: paste the tag again after an upgrade. A page with a{' '}
      <code>Content-Security-Policy</code> needs these sources beside its own:
    </p>
    <CodeBlock id="policy" label="Content-Security-Policy">
      {makeSnippetPolicy(source)}
    </CodeBlock>
  </section>
)
