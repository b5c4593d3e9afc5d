import { expect, test } from 'bun:test'
import { renderForTest } from './facts.ts'

/** What an inbox shows behind the subject: the first text of the document. */
const previewOf = ({ html }: { html: string }): string =>
  (/<body[^>]*>\s*<div style="display:none;[^"]*mso-hide:all">([^<]*)<\/div>/.exec(html)?.[1] ?? '')
    .replaceAll(/&#847;|&zwnj;|&nbsp;/g, '')
    .trim()

test.each([
  ['Hello Ada,\n\nYour results are ready. Have a look.', 'Your results are ready.'],
  ['Hello Ada!\n\nYour results are ready.', 'Your results are ready.'],
  ['It works!', 'It works!'],
  ['Your results are ready!\n\nHave a look.', 'Your results are ready!'],
  ['Hello Ada.\n\nHave a look.', 'Have a look.'],
  ['Your results https://app.example.com/r?token=secret are ready.', 'Your results are ready.'],
  ['Version 2.5 is out\n\nMore below.', 'Version 2.5 is out'],
  ['Hello Ada,\n\n---\n\nReady?', 'Ready?'],
  [`${'word '.repeat(60)}end.`, 'word '.repeat(60).slice(0, 140).trim()],
])('without a preheader, an inbox shows the first sentence after the greeting: %j', (body, expected) => {
  expect(previewOf(renderForTest({ preheader: '', body }))).toBe(expected)
})

test("an inbox shows a message's own preheader", () => {
  expect(previewOf(renderForTest({ preheader: 'They are <here>.' }))).toBe('They are &lt;here&gt;.')
})
