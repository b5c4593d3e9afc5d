/** An authenticator app and members who use it. */
import { createHmac } from 'node:crypto'
import { PASSWORD, type AccountPages, type Browser } from '../browser.ts'
import { textOf } from '../pages.ts'

export const STEP_MS = 30_000
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

/** The code at `now` (ms UTC), computed independently per RFC 4226 and 6238. */
export function codeAt(secret: string, now: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / STEP_MS)))
  const hash = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

export const twoStepPath = (pages: AccountPages, step = ''): string => `${pages.at('you')}/two-step${step}`

/** Starts the setup and reads the key from its page. */
export async function setUp(pages: AccountPages, browser: Browser): Promise<string> {
  const { html } = await browser.post(twoStepPath(pages), { confirmPassword: PASSWORD })
  return (await textOf(html, '#two-step-key')).join('').replaceAll(' ', '')
}

export const codesOf = async (html: string): Promise<string[]> =>
  (await textOf(html, '#recovery-codes')).join('').split('\n')

/** Turns two-step sign-in on and moves the clock to the next valid code. */
export async function turnOn(pages: AccountPages, browser: Browser): Promise<{ secret: string; codes: string[] }> {
  const secret = await setUp(pages, browser)
  const { status, html } = await browser.post(twoStepPath(pages, '/on'), { code: codeAt(secret, pages.clock.ms) })
  if (status !== 200) throw new Error(`turning it on answered ${status}`)
  pages.clock.ms += STEP_MS
  return { secret, codes: await codesOf(html) }
}
