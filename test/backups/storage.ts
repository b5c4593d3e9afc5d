/** S3-compatible storage in memory: the calls that backups use, each with its signature verified. */
import { AwsV4Signer } from 'aws4fetch'

const KEYS = { accessKey: 'AKTEST', secretKey: 'the-secret-of-the-storage' }
export const BUCKET = 'backups'
const REGION = 'eu-test-1'

type Upload = { key: string; parts: Map<number, Uint8Array> }

/** The header of the request must be what its holder of the key would have written. */
async function isSigned(request: Request): Promise<boolean> {
  const given = request.headers.get('Authorization') ?? ''
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(given) ?? []
  const headers = new Headers(names.split(';').map((name) => [name, request.headers.get(name) ?? '']))
  const signer = new AwsV4Signer({
    method: request.method,
    url: request.url,
    headers,
    accessKeyId: KEYS.accessKey,
    secretAccessKey: KEYS.secretKey,
    service: 's3',
    region: REGION,
    datetime: request.headers.get('x-amz-date') ?? '',
    allHeaders: true,
  })
  const signature = /Signature=([0-9a-f]+)/
  const expected = signature.exec(await signer.authHeader())?.[1]
  return expected !== undefined && signature.exec(given)?.[1] === expected
}

const xml = (body: string): Response =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`, { headers: { 'Content-Type': 'application/xml' } })
const refuse = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`, {
    status,
    headers: { 'Content-Type': 'application/xml' },
  })

const join = (parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))

export function startStorage() {
  const objects = new Map<string, Uint8Array>()
  const uploads = new Map<string, Upload>()
  /** set: every call fails */
  const fault = { status: 0, isHanging: false }

  const put = async (key: string, query: URLSearchParams, request: Request): Promise<Response> => {
    const bytes = new Uint8Array(await request.arrayBuffer())
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (upload) upload.parts.set(Number(query.get('partNumber')), bytes)
    else objects.set(key, bytes)
    return new Response(null, { headers: { ETag: `"${Bun.hash(bytes)}"` } })
  }
  const post = (key: string, query: URLSearchParams): Response => {
    if (query.has('uploads')) {
      const id = crypto.randomUUID()
      uploads.set(id, { key, parts: new Map() })
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
    }
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (!upload) return refuse(404, 'NoSuchUpload')
    const sorted = [...upload.parts].sort(([a], [b]) => a - b).map(([, bytes]) => bytes)
    objects.set(key, join(sorted))
    return xml('<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>')
  }
  const list = (query: URLSearchParams): Response => {
    const prefix = query.get('prefix') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort()
    const from = Number(query.get('continuation-token') ?? 0)
    // pages of two, so that there are several
    const page = keys.slice(from, from + 2)
    const isTruncated = from + 2 < keys.length
    const next = isTruncated ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : ''
    const contents = page.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`)
    return xml(
      `<ListBucketResult><Name>${BUCKET}</Name><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
    )
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (fault.isHanging) return new Promise<never>(() => {})
      if (fault.status !== 0) return refuse(fault.status, 'ServiceUnavailable')
      if (!(await isSigned(request))) return refuse(403, 'SignatureDoesNotMatch')
      const { pathname, searchParams } = new URL(request.url)
      const [, bucket, ...path] = decodeURIComponent(pathname).split('/')
      const key = path.join('/')
      if (bucket !== BUCKET) return refuse(404, 'NoSuchBucket')
      if (request.method === 'PUT') return put(key, searchParams, request)
      if (request.method === 'POST') return post(key, searchParams)
      if (request.method === 'GET' && key === '') return list(searchParams)
      const found = objects.get(key)
      if (request.method === 'DELETE') {
        objects.delete(key)
        return new Response(null, { status: 204 })
      }
      if (!found) return refuse(404, 'NoSuchKey')
      const headers = { 'Content-Length': String(found.length), ETag: '"1"' }
      return new Response(request.method === 'HEAD' ? null : new Uint8Array(found), { headers })
    },
  })
  return {
    objects,
    fault,
    access: { endpoint: `http://127.0.0.1:${server.port}`, region: REGION, ...KEYS },
    stop: () => server.stop(true),
  }
}
