import { describe, expect, test } from 'bun:test'
import { writeDefaultLayout } from '../../src/mail/layout.ts'
import { findLayoutProblems } from '../../src/mail/own-layout.ts'
import { renderMail } from '../../src/mail/render.ts'
import { BARE, makeFacts, renderForTest, RESULTS, TEMPLATE, UNSUBSCRIBE } from './facts.ts'

const FULL = {
  ...BARE,
  logoUrl: 'https://app.example.com/logo.png?a=1&b=2',
  colour: '#ffdd00',
  postalAddress: '<b>Street</b> 1\nTown',
}
const withLayout = (layout: string, style = BARE) => makeFacts(RESULTS, { style: { ...style, layout } })

describe('the default layout, in Liquid', () => {
  test.each([
    ['a bare app', BARE, {}],
    ['an app with everything', FULL, {}],
    ['a transactional email', FULL, { category: 'transactional' as const }],
    ['an email whose text is its preview', BARE, { preheader: '' }],
  ])('makes the same email for %s', (_, style, template) => {
    const own = renderForTest(template, withLayout(writeDefaultLayout(), style))
    expect(own).toEqual(renderForTest(template, makeFacts(RESULTS, { style })))
  })

  test('is accepted', () => expect(findLayoutProblems(writeDefaultLayout())).toEqual([]))
})

const LINK = '{% if unsubscribeUrl %}<a href="{{ unsubscribeUrl }}">Stop</a>{% endif %}'
const VISIBLE = 'Put `{{ content }}` where people see it, not in an attribute, a comment or a style.'
const LINKLESS = 'Lifecycle emails need an unsubscribe link: `<a href="{{ unsubscribeUrl }}">Unsubscribe</a>`.'

test.each([
  [`<p>{{ content }}${LINK}</p>`, []],
  [`{{ content }}{% for line in postalAddress %}{{ postalAddress.size }}{{ line }}{% endfor %}${LINK}`, []],
  [LINK, ['Add `{{ content }}` where the text of the email goes.']],
  [`{{ content }}{{ content }}${LINK}`, ['Use `{{ content }}` only once.']],
  [`<!-- {{ content }} -->${LINK}`, [VISIBLE]],
  [`<p title="{{ content }}">${LINK}`, [VISIBLE]],
  ['{{ content }}', [LINKLESS]],
  [
    '{{ content }}<a href="{{ unsubscribeUrl }}">Stop</a>',
    ['`unsubscribeUrl` has no value in transactional emails. Enclose it: `{% if unsubscribeUrl %} ... {% endif %}`.'],
  ],
  [`{{ content }}{% if unsubscribeUrl %}{{ unsubscribeUrl }}{% endif %}`, [LINKLESS]],
  [`{{ content }}{% if logoUrl %}${LINK}{% endif %}`, [LINKLESS]],
  [
    `<img src="{{ logoUrl }}">{{ content }}${LINK}`,
    ['`logoUrl` has no value in some apps. Enclose it: `{% if logoUrl %} ... {% endif %}`.'],
  ],
  [`<a href="{{ subject }}">{{ content }}</a>${LINK}`, ['Use `{{ subject }}` only as text, not in a URL.']],
  [`{{ content }${LINK}`, ['“{{ content }” does not end with }}.']],
  [`{{ content }}{{ contact.email }}${LINK}`, [expect.stringContaining('There is no variable contact.email.')]],
  [`{{ content }}{{ unsubscribeURL }}`, ['There is no variable unsubscribeURL. Did you mean unsubscribeUrl?']],
  [`{% include "x" %}{{ content }}${LINK}`, ['“{% include %}” is not allowed here.']],
])('a layout is accepted, or refused with the reason: %s', (layout, problems) => {
  expect(findLayoutProblems(layout)).toEqual(problems as string[])
})

test('values are escaped, and the text is shown as it is', () => {
  const app = { ...makeFacts().app, name: '"><script>x</script>' }
  const layout = `<b title="{{ app.name }}">{{ app.name }}</b>{{ content }}${LINK}`
  const { html } = renderForTest({ body: '**Hello**' }, { ...withLayout(layout), app })
  expect(html).toBe(
    `<b title="&quot;&gt;&lt;script&gt;x&lt;/script&gt;">&quot;&gt;&lt;script&gt;x&lt;/script&gt;</b><p style="margin:0 0 16px"><strong style="font-weight:600">Hello</strong></p><a href="${UNSUBSCRIBE}">Stop</a>`,
  )
})

/** Conditions may hold for samples and not for an email. */
test('no email is made without its text or a way to unsubscribe, or after its time', () => {
  const render = (layout: string) => renderMail(TEMPLATE, withLayout(layout))
  const onlyAda = '{% if subject contains "Ada" %}'
  expect(render(`${onlyAda}{{ content }}{% endif %}${LINK}`)).toEqual({
    broken: 'in the layout, add `{{ content }}` where the text of the email goes',
  })
  expect(render(`{{ content }}${onlyAda}${LINK}{% endif %}`)).toEqual({
    broken: expect.stringContaining('in the layout, lifecycle emails need an unsubscribe link') as unknown as string,
  })
  const loop = '{% for a in (1..1000) %}'
  expect(render(`${loop}${loop}{% endfor %}{% endfor %}{{ content }}${LINK}`)).toEqual({
    broken: 'in the layout, it takes too many steps to render',
  })
})
