import { describe, expect, test } from 'bun:test'
import { renderMail } from '../../src/mail/render.ts'
import { makeFacts, renderForTest, RESULTS, TEMPLATE, UNSUBSCRIBE } from './facts.ts'

const STOP = '<a href="{{ unsubscribeUrl }}">Stop</a>'
const STOPPED = `<a href="${UNSUBSCRIBE}">Stop</a>`
const MAIL = { preheader: '', body: '' }

const render = (html: string, properties: object = RESULTS) => {
  const mail = renderForTest({ ...MAIL, html: html + STOP }, makeFacts({ ...RESULTS, ...properties }))
  return mail.html.slice(0, -STOPPED.length)
}
const faultOf = (html: string, template: Partial<typeof TEMPLATE> = {}) =>
  renderMail({ ...TEMPLATE, ...MAIL, ...template, html }, makeFacts())

describe("an author's own HTML", () => {
  test('is sent as it is, without the layout', () => {
    const html = `<!doctype html><html><head><style>p{color:red}</style></head><body><!--[if mso]><table><tr><td><![endif]-->\n<P Class=a>&nbsp;Hi</p><br></body></html>`
    expect(renderForTest({ ...MAIL, html: html.replace('<br>', STOP) }).html).toBe(html.replace('<br>', STOPPED))
  })

  test.each([
    // values are escaped, in texts and attributes
    [
      '<p title="{{ event.headline }}">{{ event.headline }}</p>',
      '<b a="1">',
      '<p title="&lt;b a=&quot;1&quot;&gt;">&lt;b a=&quot;1&quot;&gt;</p>',
    ],
    ['<p title={{ event.headline }}>x</p>', 'a onclick=b', '<p title="a onclick=b">x</p>'],
    // the link rule
    [
      '<a href="{{ event.headline }}">x</a>',
      'https://app.example.com/a?b=1&c=2',
      '<a href="https://app.example.com/a?b=1&amp;c=2">x</a>',
    ],
    [
      '<a href="https://app.example.com/?a=1&amp;b={{ event.headline }}">x</a>',
      'c&d',
      '<a href="https://app.example.com/?a=1&amp;b=c%26d">x</a>',
    ],
    ['<a href="{{ event.headline }}">x</a>', 'https://evil.example/', '<a>x</a>'],
    ['<a href="{{ event.headline }}">x</a>', 'javascript:alert(1)', '<a>x</a>'],
    ['<a href="{{ app.homeUrl }}">x</a>', 'x', '<a href="https://app.example.com/home">x</a>'],
    ['<a href="https://other.example/">x</a>', 'x', '<a href="https://other.example/">x</a>'],
    // nothing is loaded or run by a value
    ['<img src="https://app.example.com/{{ event.headline }}.png" alt="x">', 'a', '<img alt="x">'],
    ['<td background="{{ event.headline }}" onclick="{{ event.headline }}">x</td>', 'a', '<td>x</td>'],
    ['<p style="width:{{ event.headline }}">x</p>', '50%', '<p style="width:50%">x</p>'],
    ['<p style="color:{{ event.headline }}">x</p>', 'red;background:url(//evil)', '<p>x</p>'],
  ])('%s with the value %p', (html, headline, expected) => {
    expect(render(html, { headline })).toBe(expected)
  })

  test.each([
    ['<!--[if mso]>{{ event.headline }}<![endif]-->', "values can't be used in comments, such as <!--[if mso]>"],
    ['<style>p{color:{{ event.headline }}}</style>', "values can't be used in <style> or <script>"],
    ['<script>{{ event.headline }}</script>', "values can't be used in <style> or <script>"],
    ['<{{ event.headline }}>', "values can't be used in element names"],
    ['<p {{ event.headline }}>', "values can't be used in attribute names"],
  ])('is refused where a value would change it: %s', (html, broken) => {
    expect(faultOf(html + STOP)).toEqual({ broken })
  })

  test('needs an unsubscribe link in lifecycle emails', () => {
    const broken = 'lifecycle emails need an unsubscribe link: <a href="{{ unsubscribeUrl }}">Unsubscribe</a>'
    expect(faultOf('<p>{{ unsubscribeUrl }}</p>')).toEqual({ broken })
    expect(faultOf(`<!-- <a href="https://x.example/"></a> --><p>Hi</p>`)).toEqual({ broken })
    expect(faultOf('<p>Hi</p>', { category: 'transactional' })).toHaveProperty('html', '<p>Hi</p>')
  })

  test('has the preview text at the start of its body', () => {
    const { html, text } = renderForTest({
      body: '',
      preheader: 'Soon <b>',
      html: `<html><body class="a"><p>Hi</p>${STOP}</body></html>`,
    })
    expect(html).toMatch(
      /^<html><body class="a"><div [^>]*><div style="display:none[^>]*>Soon &lt;b&gt;[^]*<\/div>\s*<\/div><p>Hi/,
    )
    expect(text).toStartWith('Hi')
  })
})

describe('its plain text', () => {
  test('is derived, with its links', () => {
    const html = `<html><head><title>T</title><style>p{}</style></head><body><h1>Results</h1><img src="https://x.example/a.png" alt="Logo"><table role="presentation"><tr><td><p>{{ event.headline }} &amp; more</p></td></tr></table><p><a href="{{ event.url }}">See them</a> or <a href="https://x.example/">https://x.example/</a></p>${STOP}</body></html>`
    expect(renderForTest({ ...MAIL, html }, makeFacts({ ...RESULTS, headline: '<3' })).text).toBe(
      `Results\n\n<3 & more\n\nSee them (${RESULTS.url}) or https://x.example/\n\nStop (${UNSUBSCRIBE})`,
    )
  })

  test('is the body if there is one, with the footer', () => {
    const { text } = renderForTest({ body: '**Hello** {{ contact.firstName }}', html: `<p>Hi</p>${STOP}` })
    expect(text).toStartWith('Hello Ada\n\n-- \nYou received this email because you use Picture Studio.')
    expect(text).toEndWith(`Unsubscribe: ${UNSUBSCRIBE}\n`)
  })
})

test('HTML without anything to see is not sent', () => {
  expect(faultOf('<p> </p>', { category: 'transactional' })).toEqual({ empty: 'body' })
  const image = '<img src="https://x.example/a.png" alt="">'
  expect(faultOf(image, { category: 'transactional' })).toHaveProperty('html', image)
})
