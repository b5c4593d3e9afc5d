import { describe, expect, test } from 'bun:test'
import { inkOn, isColour, readableOn } from '../../src/mail/theme.ts'

/** WCAG 2.2's definition, written independently. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [one, other].map(luminance).sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const COLOURS = ['#2b4acb', '#ffdd00', '#000000', '#ffffff', '#777777', '#0b6b3a', '#ff0000', '#123456']

describe('any accent colour', () => {
  test.each(COLOURS)('%s can be read on a button', (colour) => {
    expect(contrast(inkOn(colour), colour)).toBeGreaterThanOrEqual(4.5)
  })

  test.each(COLOURS)('%s can be read as a link by day and by night', (colour) => {
    for (const ground of ['#ffffff', '#232220'])
      expect(contrast(readableOn(colour, ground), ground)).toBeGreaterThanOrEqual(4.5)
  })
})

test('a readable colour stays unchanged', () => {
  expect(readableOn('#2b4acb', '#ffffff')).toBe('#2b4acb')
})

test.each([
  ['#2B4acb', true],
  ['#2b4', false],
  ['red', false],
  ['#2b4acb;background:url(x)', false],
  ['', false],
])('isColour(%p)', (text, is) => {
  expect(isColour(text)).toBe(is)
})
