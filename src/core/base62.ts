/** In ASCII order, so that numbers sort as their texts do. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export type RandomBytes = (count: number) => Uint8Array

/** 4 × 62. Bytes above would favour the first characters. */
const FAIR_BELOW = 248

const randomBytes: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count))

export function randomBase62(length: number, random: RandomBytes = randomBytes): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random(length - text.length)) if (byte < FAIR_BELOW) text += BASE62.charAt(byte % 62)
  }
  return text
}

export function toBase62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = BASE62.charAt(rest % 62) + text
  return text
}
