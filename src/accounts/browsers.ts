/** Later browsers claim to be earlier ones, so the order matters. */
const BROWSERS: [mark: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: [mark: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

const nameOf = (names: [RegExp, string][], text: string): string | undefined =>
  names.find(([mark]) => mark.test(text))?.[1]

/** "Firefox on Linux". Never quotes the header. */
export function describeBrowser(userAgent: string | null): string {
  const text = (userAgent ?? '').slice(0, 500)
  const [browser, system] = [nameOf(BROWSERS, text), nameOf(SYSTEMS, text)]
  if (!browser && !system) return 'Another program'
  return [browser ?? 'A browser', ...(system ? [`on ${system}`] : [])].join(' ')
}
