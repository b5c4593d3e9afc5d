/** Each value is safe in a double-quoted style attribute. */
export type Theme = Record<'ground' | 'sheet' | 'sunk' | 'ink' | 'quiet' | 'line' | 'link', string> & {
  button: string
  onButton: string
  sans: string
  mono: string
}

const COLOUR = '#2b4acb'

const LIGHT = {
  ground: '#f3f1ed',
  sheet: '#ffffff',
  sunk: '#f3f1ed',
  ink: '#23211e',
  quiet: '#67625a',
  line: '#e0dcd5',
}
const DARK = {
  ground: '#1a1917',
  sheet: '#232220',
  sunk: '#2e2c29',
  ink: '#ebe8e3',
  quiet: '#a8a299',
  line: '#45413c',
}

const LETTERS = {
  sans: "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  mono: 'Menlo,Consolas,monospace',
}

type Themes = { light: Theme; dark: Theme }

/** Finding readable shades takes a while. */
const THEMES_MAX = 1_000
const themes = new Map<string, Themes>()

export function findTheme(colour: string | null): Themes {
  const chosen = colour !== null && isColour(colour) ? colour : COLOUR
  const known = themes.get(chosen)
  if (known) return known
  if (themes.size >= THEMES_MAX) themes.clear()
  const theme = createTheme(chosen)
  themes.set(chosen, theme)
  return theme
}

function createTheme(chosen: string): Themes {
  const button = { button: chosen, onButton: inkOn(chosen) }
  return {
    light: { ...LIGHT, ...LETTERS, ...button, link: readableOn(chosen, LIGHT.sheet) },
    dark: { ...DARK, ...LETTERS, ...button, link: readableOn(chosen, DARK.sheet) },
  }
}

const READABLE = 4.5
const STEPS = 20

type Rgb = [red: number, green: number, blue: number]

const WHITE: Rgb = [255, 255, 255]
const BLACK: Rgb = [0, 0, 0]

const HEX = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i

/** Only `#rrggbb`: nothing else may enter a style. */
export const isColour = (text: string): boolean => HEX.test(text)

function readColour(text: string): Rgb {
  const [, red = '0', green = '0', blue = '0'] = HEX.exec(text) ?? []
  return [red, green, blue].map((digits) => Number.parseInt(digits, 16)) as Rgb
}

const printColour = (colour: Rgb): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

const linear = (part: number): number => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4)

const luminance = ([red, green, blue]: Rgb): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

function contrast(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const mix = (from: Rgb, to: Rgb, share: number): Rgb =>
  from.map((part, index) => part + ((to[index] ?? 0) - part) * share) as Rgb

export function inkOn(colour: string): string {
  const ground = readColour(colour)
  return printColour(contrast(ground, WHITE) >= contrast(ground, BLACK) ? WHITE : BLACK)
}

export function readableOn(colour: string, ground: string): string {
  const [own, behind] = [readColour(colour), readColour(ground)]
  const towards = luminance(behind) < 0.18 ? WHITE : BLACK
  const shades = Array.from({ length: STEPS + 1 }, (_, step) => mix(own, towards, step / STEPS))
  return printColour(shades.find((shade) => contrast(shade, behind) >= READABLE) ?? towards)
}
