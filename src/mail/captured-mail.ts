/** A mail as its bytes say it, for whoever reads what the capture provider kept. */

/** `html` and `text` are empty where the mail has no such part. */
export type ReadMail = { from: string; to: string; subject: string; html: string; text: string }

type Part = { headers: Map<string, string>; body: string }

/** Takes a mail apart, as far as ours go: headers, one level of parts or several, quoted-printable and base64. */
export function readMail(raw: string): ReadMail {
  const mail = readPart(raw)
  const header = (name: string): string => decodeWords(mail.headers.get(name) ?? '')
  const leaves = listLeaves(mail)
  const find = (type: string): string => {
    const leaf = leaves.find(({ headers }) => typeOf(headers).startsWith(type))
    return leaf ? decodeBody(leaf) : ''
  }
  const common = { from: header('from'), to: header('to'), subject: header('subject') }
  return { ...common, html: find('text/html'), text: find('text/plain') }
}

const typeOf = (headers: Part['headers']): string => (headers.get('content-type') ?? 'text/plain').toLowerCase()

function readPart(source: string): Part {
  const end = source.indexOf('\r\n\r\n')
  const head = end < 0 ? source : source.slice(0, end)
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { headers, body: end < 0 ? '' : source.slice(end + 4) }
}

function listLeaves(part: Part): Part[] {
  const [, boundary] = /^multipart\/.*boundary="?([^";]+)"?/i.exec(part.headers.get('content-type') ?? '') ?? []
  if (boundary === undefined) return [part]
  const pieces = `\r\n${part.body}`.split(`\r\n--${boundary}`).slice(1)
  return pieces
    .filter((piece) => !piece.startsWith('--'))
    .flatMap((piece) => listLeaves(readPart(piece.replace(/^[ \t]*\r\n/, ''))))
}

function decodeBody({ headers, body }: Part): string {
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  return encoding === 'quoted-printable' ? decodeQuoted(body.replaceAll(/=[ \t]*\r\n/g, '')) : body
}

const decodeQuoted = (text: string): string =>
  text.replaceAll(/(?:=[\dA-Fa-f]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'))

/** Words of a header that are not ASCII (RFC 2047); a character may be cut between two of them. */
function decodeWords(text: string): string {
  const joined = text.replaceAll(/\?=\s+=\?/g, '?==?')
  return joined.replaceAll(/(?:=\?utf-8\?[bq]\?[^?\s]*\?=)+/gi, (words) => {
    const bytes = Array.from(words.matchAll(/=\?utf-8\?([bq])\?([^?\s]*)\?=/gi), ([, kind = '', word = '']) =>
      kind.toLowerCase() === 'b' ? Buffer.from(word, 'base64') : quotedBytes(word.replaceAll('_', ' ')),
    )
    return Buffer.concat(bytes).toString('utf8')
  })
}

const quotedBytes = (word: string): Buffer =>
  Buffer.from(
    word.replaceAll(/=([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
