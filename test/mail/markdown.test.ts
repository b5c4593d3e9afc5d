import { describe, expect, test } from 'bun:test'
import { renderHtmlBody } from '../../src/mail/html-body.ts'
import { findTheme } from '../../src/mail/theme.ts'
import { cleanSource, isBlank, MarkdownLimit, parseMarkdown } from '../../src/mail/markdown.ts'
import { renderTextBody } from '../../src/mail/text-body.ts'
import { COSTLY_BODIES } from '../costly-drafts.ts'
import { makeFacts, renderForTest, TEMPLATE } from './facts.ts'
import { renderMail } from '../../src/mail/render.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const LINKS = { readLink: (target: string) => target, homeUrl: null }

/** The output's length, or the fault. */
function render(body: string): number | string {
  try {
    const tree = parseMarkdown(cleanSource(body))
    return renderHtmlBody(tree, LINKS, findTheme(null).light).length + renderTextBody(tree, LINKS).length
  } catch (error) {
    if (error instanceof MarkdownLimit) return error.message
    throw error
  }
}

describe('Markdown', () => {
  test.each(Object.entries(COSTLY_BODIES).filter(([, body]) => !body.includes('{')))(
    'takes less than a second of the processor: %s',
    (_, body) => {
      const startedAt = process.cpuUsage()
      render(body)
      const { user, system } = process.cpuUsage(startedAt)
      expect((user + system) / 1_000).toBeLessThan(1_000)
    },
    BEST_OF_FIVE,
  )

  test.each([
    ['> '.repeat(32) + 'a', 'it is nested too deeply'],
    ['a\n'.repeat(10_001), 'it has too many parts for an email'],
    [`[a]: https://example.com/${'x'.repeat(30_000)}\n\n${'[a]'.repeat(100)}`, 'its links are too long for an email'],
    [`${'[a](https://example.com/)\n\n'.repeat(2_000)}`, 'the result is too long for an email'],
    [`${'>'.repeat(30)}a\n`.repeat(1_000), expect.any(Number)],
    [`${'> '.repeat(28)}a`, expect.any(Number)],
    [`${'  - a\n'.repeat(2_000)}`, expect.any(Number)],
  ])('has limits: %#', (body, outcome) => {
    expect(render(body)).toEqual(outcome)
  })

  test('cannot fake parts of the tree', () => {
    const { html, text } = renderForTest({ body: 'a \u00010\u0002 &#1;0&#2; b\n\n[&#1;0&#2;](https://x.example/&#1;)' })
    expect(html).toContain('>a 0 0 b</p>')
    expect(text).toContain('a 0 0 b\n')
    // oxlint-disable-next-line no-control-regex -- none of them may be left
    expect(html + text).not.toMatch(/[\u0001\u0002]/)
  })

  test('a link with an image, a line break in bold text, and an image in a list', () => {
    const tree = parseMarkdown(
      '[![of *a* cat](https://x.example/c.png)](https://x.example/)\n\n*a\nb*\n\n- ![c](http://x)',
    )
    const html = renderHtmlBody(tree, LINKS, findTheme(null).light).replaceAll(/ style="[^"]*"/g, '')
    expect(html).toContain('"><img src="https://x.example/c.png" alt="of a cat"></a>')
    expect(html).toContain('<p><em>a<br>b</em></p>')
    expect(html).toContain('<ul><li>c</li></ul>')
  })
})

describe('a body without text', () => {
  test.each([
    '{% if event.nothing %}Hello{% endif %}',
    '   \n\n',
    '&nbsp;\n\n&#8203;\u2800',
    '---\n\n> \n\n- ',
    '![ ](http://x.example/no-picture.png)',
    '{% comment %}Hello{% endcomment %}',
    '[](https://x.example/)',
  ])('is empty: %p', (body) => {
    expect(renderMail({ ...TEMPLATE, body }, makeFacts())).toEqual({ empty: 'body' })
  })

  test.each(['a', '![](https://x.example/picture.png)', '> - **1**', '{{ event.headline }}', '\u{1f389}', '`x`'])(
    'has text and is rendered: %p',
    (body) => {
      expect(renderMail({ ...TEMPLATE, body }, makeFacts())).toHaveProperty('html')
      expect(isBlank(parseMarkdown(body))).toBeFalse()
    },
  )
})
