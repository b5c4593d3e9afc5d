/** Email theme: the app's colour and quiet greys. */
import { inkOn, isColour, readableOn } from './colours.ts'

/** Each value is safe in a double-quoted style attribute. */
export type Look = Record<'ground' | 'sheet' | 'sunk' | 'ink' | 'quiet' | 'line' | 'link', string> & {
  button: string
  onButton: string
  sans: string
  mono: string
}

/** The default colour. */
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
  mono: "ui-monospace,'SF Mono',Menlo,Consolas,monospace",
}

type Looks = { light: Look; dark: Look }

/** Finding readable shades takes a while. */
const LOOKS_MAX = 1_000
const looks = new Map<string, Looks>()

/** Anything but `#rrggbb` counts as not set. */
export function findLook(colour: string | null): Looks {
  const chosen = colour !== null && isColour(colour) ? colour : COLOUR
  const known = looks.get(chosen)
  if (known) return known
  if (looks.size >= LOOKS_MAX) looks.clear()
  const look = createLook(chosen)
  looks.set(chosen, look)
  return look
}

function createLook(chosen: string): Looks {
  const button = { button: chosen, onButton: inkOn(chosen) }
  return {
    light: { ...LIGHT, ...LETTERS, ...button, link: readableOn(chosen, LIGHT.sheet) },
    dark: { ...DARK, ...LETTERS, ...button, link: readableOn(chosen, DARK.sheet) },
  }
}
