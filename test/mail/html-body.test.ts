import { DEFAULT_PLACE } from '../../src/messages/template-values.ts'
import { describe, expect, test } from 'bun:test'
import { CONTACT, makeFacts, renderForTest, RESULTS } from './facts.ts'

/** Without styles, classes and layout. */
function bodyOf(body: string, facts = makeFacts()): string {
  const { html } = renderForTest({ body }, facts)
  const inner = /<td class="sheet[^>]*>\n([\s\S]*)\n<\/td><\/tr>\n<tr><td class="quiet"/.exec(html)?.[1] ?? ''
  return inner.replaceAll(/ (?:style|class|bgcolor|cellpadding|cellspacing|border)="[^"]*"/g, '')
}

describe('Markdown of the author', () => {
  test.each([
    ['# One\n\n## Two\n\n### Three', '<h1>One</h1>\n<h2>Two</h2>\n<h3>Three</h3>'],
    ['one\ntwo', '<p>one<br>two</p>'],
    ['**a** *b* ~~c~~ `d`', '<p><strong>a</strong> <em>b</em> <s>c</s> <code>d</code></p>'],
    ['- a\n- b', '<ul><li>a</li>\n<li>b</li></ul>'],
    ['3. a\n4. b', '<ol start="3"><li>a</li>\n<li>b</li></ol>'],
    ['> said', '<blockquote><p>said</p></blockquote>'],
    ['```\n1 < 2\n```', '<pre>1 &lt; 2\n</pre>'],
    ['a\n\n---', '<p>a</p>\n<hr>'],
    ['| a |\n|---|\n| b |', '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>'],
    ['a [b](https://x.example/?a=1&b=2) c', '<p>a <a href="https://x.example/?a=1&amp;b=2">b</a> c</p>'],
    ['![of a *cat*](https://x.example/cat.png)', '<p><img src="https://x.example/cat.png" alt="of a cat"></p>'],
    ['![cat](http://x.example/cat.png) ![dog](data:image/png;base64,x)', '<p>cat dog</p>'],
    ['<b>bold</b> & <script>x</script>', '<p>&lt;b&gt;bold&lt;/b&gt; &amp; &lt;script&gt;x&lt;/script&gt;</p>'],
    ['[x](javascript:alert(1)) y', '<p>x y</p>'],
    [
      'https://x.example/?a=1&b=2.',
      '<p><a href="https://x.example/?a=1&amp;b=2">https://x.example/?a=1&amp;b=2</a>.</p>',
    ],
    [
      'at <https://x.example> or <a@x.example>',
      '<p>at <a href="https://x.example/">https://x.example</a> or <a href="mailto:a@x.example">a@x.example</a></p>',
    ],
    [
      '<javascript:alert(1)> `https://x.example` www.x.example',
      '<p>javascript:alert(1) <code>https://x.example</code> www.x.example</p>',
    ],
    [
      'https://app.example.com/{{ event.headline }}',
      '<p><a href="https://app.example.com/Your%2012%20pictures%20are%20ready.">https://app.example.com/Your 12 pictures are ready.</a></p>',
    ],
    ['https://evil.example/{{ event.headline }}', '<p>https://evil.example/Your 12 pictures are ready.</p>'],
    ['{{ event.url }}', `<p>${RESULTS.url}</p>`],
    ['a\u0001b\u0002c\u0003d', '<p>abcd</p>'],
  ])('%p', (body, html) => {
    expect(bodyOf(body)).toBe(html)
  })
})

describe('a link alone in a paragraph', () => {
  const button = (href: string) => `<table role="presentation"><tr><td><a href="${href}">Open</a></td></tr></table>`

  test('becomes a button', () => {
    expect(bodyOf('[Open]({{ event.url }})')).toBe(button(RESULTS.url))
  })

  test('leads to the home page if the email may not link to its target', () => {
    const facts = makeFacts({ ...RESULTS, url: 'https://evil.example/' })
    expect(bodyOf('[Open]({{ event.url }})', facts)).toBe(button('https://app.example.com/home'))
    expect(renderForTest({}, facts).refusedLinks).toEqual(['https://evil.example/'])
  })

  test('stays a link in a list, and leads to the home page if necessary', () => {
    const list = '- [Open]({{ event.url }})\n\n- second'
    expect(bodyOf(list)).toContain(`<li><a href="${RESULTS.url}">Open</a></li>`)
    const facts = makeFacts({ ...RESULTS, url: 'https://evil.example/' })
    expect(bodyOf(list, facts)).toContain('<li><a href="https://app.example.com/home">Open</a></li>')
  })

  test('is text if the app has no home page', () => {
    const app = { name: 'Demo', homeUrl: null, ...DEFAULT_PLACE, hosts: ['app.example.com'] }
    const facts = makeFacts({ ...RESULTS, url: 'https://evil.example/' }, { app })
    expect(bodyOf('[Open]({{ event.url }})', facts)).toBe('<p>Open</p>')
    expect(bodyOf('before [Open]({{ event.url }})', facts)).toBe('<p>before Open</p>')
  })
})

describe('a value', () => {
  test.each([
    ['[x](https://evil.example)', '[x](https://evil.example)'],
    ['**bold** # not a heading', '**bold** # not a heading'],
    ['<script>alert("1")</script>', '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'],
    ['</td></tr></table>', '&lt;/td&gt;&lt;/tr&gt;&lt;/table&gt;'],
    ['{{ contact.email }}', '{{ contact.email }}'],
    ['<https://evil.example> https://evil.example', '&lt;https://evil.example&gt; https://evil.example'],
    ['- a\r\n- b', '- a - b'],
    ['&amp; &#60;', '&amp;amp; &amp;#60;'],
    ['\u05e9\u05dc\u05d5\u05dd!', '<bdi>\u05e9\u05dc\u05d5\u05dd!</bdi>'],
    ['\u202egnp.exe', 'gnp.exe'],
  ])('%p is only ever text', (headline, shown) => {
    const facts = makeFacts({ ...RESULTS, headline })
    expect(bodyOf('{{ event.headline }}', facts)).toBe(`<p>${shown}</p>`)
    expect(bodyOf('# {{ event.headline }}', facts)).toBe(`<h1>${shown}</h1>`)
    expect(bodyOf('`{{ event.headline }}`', facts)).toBe(`<p><code>${shown}</code></p>`)
    expect(bodyOf('- **{{ event.headline }}**', facts)).toBe(`<ul><li><strong>${shown}</strong></li></ul>`)
    expect(bodyOf('a [{{ event.headline }}](https://x.example/)', facts)).toBe(
      `<p>a <a href="https://x.example/">${shown}</a></p>`,
    )
    expect(bodyOf('{{ event.headline }} | a\n---|---\nb | {{ event.headline }}', facts)).toContain(`<td>${shown}</td>`)
  })

  test('appears in the alternative text of an image only as text', () => {
    const facts = makeFacts({ ...RESULTS, headline: '"><script> \u05d0 *x*' })
    expect(bodyOf('![{{ event.headline }}](https://x.example/a.png)', facts)).toBe(
      '<p><img src="https://x.example/a.png" alt="&quot;&gt;&lt;script&gt; \u05d0 *x*"></p>',
    )
  })

  test('adds no image', () => {
    expect(bodyOf('![cat]({{ event.url }}) ![dog](https://x.example/{{ contact.email }})')).toBe('<p>cat dog</p>')
  })

  test('stays one value at 10 KB', () => {
    const fields = { long: 'word [x](y) '.repeat(1000) }
    const html = bodyOf('{{ contact.fields.long }}', makeFacts(RESULTS, { contact: { ...CONTACT, fields } }))
    expect(html).toBe(`<p>${fields.long.trim()}</p>`)
  })
})
