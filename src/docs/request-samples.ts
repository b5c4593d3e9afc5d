/** Writes one HTTP request as code, in every language of the samples. */

export type SampleBlock = { label: string; code: string }

export type CodeSample = { id: string; name: string; blocks: SampleBlock[]; hint?: string }

export type SampleRequest = { method: string; url: string; body?: object }

type Literal = {
  key(name: string): string
  text(value: string): string
  words: { true: string; false: string; null: string }
  list: [open: string, close: string]
  map: [open: string, close: string]
  indent: string
  isTrailing: boolean
}

const quoteSingle = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
const IDENTIFIER = /^[a-z_]\w*$/i
const JSON_WORDS = { true: 'true', false: 'false', null: 'null' }

const SCRIPT: Literal = {
  key: (name) => `${IDENTIFIER.test(name) ? name : quoteSingle(name)}: `,
  text: quoteSingle,
  words: JSON_WORDS,
  list: ['[', ']'],
  map: ['{', '}'],
  indent: '  ',
  isTrailing: true,
}
const PYTHON: Literal = {
  ...SCRIPT,
  key: (name) => `${JSON.stringify(name)}: `,
  text: (value) => JSON.stringify(value),
  words: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
}
const PHP: Literal = {
  ...SCRIPT,
  key: (name) => `${quoteSingle(name)} => `,
  map: ['[', ']'],
  indent: '    ',
}
const RUBY: Literal = { ...SCRIPT, words: { ...JSON_WORDS, null: 'nil' }, isTrailing: false }

/** `depth`: how far the closing bracket is indented. */
function writeLiteral(value: unknown, style: Literal, depth: number): string {
  if (typeof value === 'string') return style.text(value)
  if (value === null || typeof value === 'boolean') return style.words[`${value}` as 'true' | 'false' | 'null']
  if (typeof value !== 'object') return String(value)
  const [open, close] = Array.isArray(value) ? style.list : style.map
  const items = Array.isArray(value)
    ? value.map((item) => writeLiteral(item, style, depth + 1))
    : Object.entries(value).map(([name, item]) => style.key(name) + writeLiteral(item, style, depth + 1))
  const isShort = Array.isArray(value) && value.every((item) => typeof item !== 'object')
  if (isShort) return open + items.join(', ') + close
  const inner = style.indent.repeat(depth + 1)
  return `${open}\n${items.map((item) => inner + item).join(',\n')}${style.isTrailing ? ',' : ''}\n${style.indent.repeat(depth)}${close}`
}

const pretty = (body: object): string => JSON.stringify(body, null, 2)
const lines = (...given: (string | false | undefined)[]): string =>
  given.filter((line) => line !== false && line !== undefined).join('\n')

const curl = ({ method, url, body }: SampleRequest): string =>
  [
    `curl -sS --max-time 10 ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    `  -H "Authorization: Bearer $SERVICE_API_KEY"`,
    ...(body
      ? [
          `  -H 'Content-Type: application/json'`,
          `  -d '${pretty(body).replaceAll('\n', '\n  ').replaceAll("'", `'\\''`)}'`,
        ]
      : []),
  ].join(' \\\n')

const script = ({ method, url, body }: SampleRequest, environment: string): string =>
  lines(
    `const response = await fetch(${quoteSingle(url)}, {`,
    method !== 'GET' && `  method: '${method}',`,
    '  headers: {',
    `    Authorization: \`Bearer \${${environment}.SERVICE_API_KEY}\`,`,
    body && `    'Content-Type': 'application/json',`,
    '  },',
    body && `  body: JSON.stringify(${writeLiteral(body, SCRIPT, 1)}),`,
    '  signal: AbortSignal.timeout(10_000),',
    '})',
    'console.log(await response.json())',
  )

const python = ({ method, url, body }: SampleRequest): string =>
  lines(
    'import json',
    'import os',
    'from urllib import request',
    '',
    'req = request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["SERVICE_API_KEY"],',
    body && '        "Content-Type": "application/json",',
    '    },',
    body && `    data=json.dumps(${writeLiteral(body, PYTHON, 1)}).encode(),`,
    ')',
    'with request.urlopen(req, timeout=10) as response:',
    '    print(json.load(response))',
  )

const php = ({ method, url, body }: SampleRequest): string =>
  lines(
    '<?php',
    '',
    `$curl = curl_init(${quoteSingle(url)});`,
    'curl_setopt_array($curl, [',
    method !== 'GET' && `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_TIMEOUT => 10,',
    '    CURLOPT_HTTPHEADER => [',
    "        'Authorization: Bearer ' . getenv('SERVICE_API_KEY'),",
    body && "        'Content-Type: application/json',",
    '    ],',
    body && `    CURLOPT_POSTFIELDS => json_encode(${writeLiteral(body, PHP, 1)}),`,
    ']);',
    'echo curl_exec($curl);',
  )

const capitalized = (method: string): string => method.charAt(0) + method.slice(1).toLowerCase()

const ruby = ({ method, url, body }: SampleRequest): string =>
  lines(
    body && "require 'json'",
    "require 'net/http'",
    '',
    `url = URI(${quoteSingle(url)})`,
    `request = Net::HTTP::${capitalized(method)}.new(url)`,
    `request['Authorization'] = "Bearer #{ENV['SERVICE_API_KEY']}"`,
    body && "request['Content-Type'] = 'application/json'",
    body && `request.body = ${writeLiteral(body, RUBY, 0)}.to_json`,
    "options = { use_ssl: url.scheme == 'https', read_timeout: 10 }",
    'response = Net::HTTP.start(url.host, url.port, **options) { |http| http.request(request) }',
    'puts response.body',
  )

const go = ({ method, url, body }: SampleRequest): string =>
  lines(
    'package main',
    '',
    'import (',
    ...['io', 'log', 'net/http', 'os', ...(body ? ['strings'] : []), 'time'].map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    body && `\tbody := strings.NewReader(\`${pretty(body)}\`)`,
    `\treq, _ := http.NewRequest("${method}", ${JSON.stringify(url)}, ${body ? 'body' : 'nil'})`,
    '\treq.Header.Set("Authorization", "Bearer "+os.Getenv("SERVICE_API_KEY"))',
    body && '\treq.Header.Set("Content-Type", "application/json")',
    '\tclient := &http.Client{Timeout: 10 * time.Second}',
    '\tresponse, err := client.Do(req)',
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '\tdefer response.Body.Close()',
    '\tio.Copy(os.Stdout, response.Body)',
    '}',
  )

/** The signature is made in the shell. `body`: JSON without single quotes. */
export const bounceSample = (url: string, body: string): string => `body='${body}'
time=$(date +%s)
signature=$(printf %s "$time.$body" \\
  | openssl dgst -sha256 -hmac "$REPORT_SECRET" | sed 's/^.* //')
curl -sS --max-time 10 \\
  '${url}' \\
  -H 'Content-Type: application/json' \\
  -H "Eventpost-Signature: t=$time,v1=$signature" \\
  -d "$body"`

const LANGUAGES: [id: string, name: string, write: (request: SampleRequest) => string][] = [
  ['curl', 'curl', curl],
  ['node', 'Node', (request) => script(request, 'process.env')],
  ['bun', 'Bun', (request) => script(request, 'Bun.env')],
  ['python', 'Python', python],
  ['php', 'PHP', php],
  ['ruby', 'Ruby', ruby],
  ['go', 'Go', go],
  ['nextjs', 'Next.js', (request) => `// in a server action or a route handler\n${script(request, 'process.env')}`],
]

export const requestSamples = (request: SampleRequest): CodeSample[] =>
  LANGUAGES.map(([id, name, write]) => ({ id, name, blocks: [{ label: 'Request', code: write(request) }] }))
