/** Reads an email as its receiver does, with DKIM check (RFC 6376, relaxed). */
import { createHash, createVerify } from 'node:crypto'

export type ReadMail = { headers: [name: string, value: string][]; parts: { type: string; text: string }[] }

const unfold = (text: string): string => text.replaceAll(/\r\n(?=[ \t])/g, '')

const splitMail = (raw: string): [head: string, body: string] => {
  const at = raw.indexOf('\r\n\r\n')
  return [raw.slice(0, at + 2), raw.slice(at + 4)]
}

function readHeaders(head: string): [string, string][] {
  const lines = unfold(head).split('\r\n').slice(0, -1)
  return lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
}

const decodeWords = (text: string): string =>
  text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/(?:=\?utf-8\?[qb]\?[^?]*\?=)+/gi, (words) =>
      Buffer.concat(
        Array.from(words.matchAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi), ([, how = '', word = '']) =>
          how.toLowerCase() === 'b' ? Buffer.from(word, 'base64') : decodeQuoted(word.replaceAll('_', ' ')),
        ),
      ).toString('utf8'),
    )

const decodeQuoted = (text: string): Buffer =>
  Buffer.from(
    text
      .replaceAll(/=\r\n/g, '')
      .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** `raw` as latin1, one character per byte. */
export function readMail(raw: string): ReadMail {
  const [head, body] = splitMail(raw)
  const headers = readHeaders(head).map(([name, value]): [string, string] => [name, decodeWords(value)])
  const boundary = /boundary="([^"]+)"/.exec(unfold(head))?.[1] ?? ''
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [partHead, partBody] = splitMail(part.replace(/^\r\n/, ''))
      const own = new Map(readHeaders(partHead))
      const encoding = own.get('content-transfer-encoding')
      const bytes =
        encoding === 'base64'
          ? Buffer.from(partBody, 'base64')
          : encoding === 'quoted-printable'
            ? decodeQuoted(partBody)
            : Buffer.from(partBody, 'latin1')
      return {
        type: own.get('content-type') ?? '',
        text: bytes.toString('utf8').replaceAll('\r\n', '\n').replace(/\n$/, ''),
      }
    })
  return { headers, parts }
}

export const headersOf = ({ headers }: ReadMail, name: string): string[] =>
  headers.filter(([own]) => own === name).map(([, value]) => value)

const relaxLine = (text: string): string => text.replaceAll(/[ \t]+/g, ' ').trim()

const relaxBody = (body: string): string => {
  const lines = body.split('\r\n').map((line) => line.replaceAll(/[ \t]+/g, ' ').trimEnd())
  return `${lines.join('\r\n').replace(/(?:\r\n)*$/, '')}\r\n`
}

/** The signature's fields, and whether it is valid. */
export function checkDkim(
  raw: string,
  publicKey: string,
): { domain: string; selector: string; signed: string[]; isValid: boolean } {
  const [head, body] = splitMail(raw)
  const fields = unfold(head).split('\r\n').slice(0, -1)
  const own = fields.find((field) => /^dkim-signature:/i.test(field)) ?? ''
  const tags = new Map(
    own
      .slice(own.indexOf(':') + 1)
      .split(';')
      .map((tag) => {
        const [, name = '', value = ''] = /^\s*(\w+)\s*=([\s\S]*)$/.exec(tag) ?? []
        return [name, value.replaceAll(/\s/g, '')] as const
      }),
  )
  const signed = (tags.get('h') ?? '').toLowerCase().split(':')
  const left = [...fields]
  const relaxed = signed.flatMap((name) => {
    const at = left.findLastIndex((field) => field.slice(0, field.indexOf(':')).trim().toLowerCase() === name)
    const [field] = at < 0 ? [] : left.splice(at, 1)
    return field === undefined ? [] : [`${name}:${relaxLine(field.slice(field.indexOf(':') + 1))}\r\n`]
  })
  const unsigned = own.replace(/(;\s*b=)[\s\S]*?(?=;|$)/, '$1')
  const data = `${relaxed.join('')}dkim-signature:${relaxLine(unsigned.slice(unsigned.indexOf(':') + 1))}`
  const isBodyRight = createHash('sha256').update(relaxBody(body), 'latin1').digest('base64') === tags.get('bh')
  const isHeadRight = createVerify('RSA-SHA256')
    .update(data, 'latin1')
    .verify(publicKey, tags.get('b') ?? '', 'base64')
  return { domain: tags.get('d') ?? '', selector: tags.get('s') ?? '', signed, isValid: isBodyRight && isHeadRight }
}
