import { Type } from '@sinclair/typebox'
import { findUnknown, PAGE, readIdCursor, writeIdCursor, CURSOR } from '../../http/queries.ts'
import { refuseFields } from '../../core/refusals.ts'
import { DOC_PAGES, writeDocPage } from '../../docs/index.ts'
import { faultOf } from '../../core/inputs.ts'
import { toQuery } from '../arguments.ts'
import { fitText, PAGE_BYTES } from '../budget.ts'
import { outputSchema, takes, type Tool } from './tool.ts'

const SLUGS = DOC_PAGES.map(({ slug }) => slug)
const WHICH = { field: 'page', code: 'invalid', message: `Send one of ${SLUGS.join(', ')}.` }
const BEYOND = { field: 'cursor', code: 'invalid', message: 'Send `nextCursor` of the piece before, of the same page.' }

export const getDocs: Tool = {
  name: 'get_docs',
  title: 'Documentation',
  description: 'A page as Markdown, by pieces; without `page`, what each is about.',
  kind: 'read',
  input: takes({
    page: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: SLUGS })),
    cursor: PAGE.cursor,
  }),
  output: outputSchema('pages', 'text', 'nextCursor'),
  run: ({ baseUrl }, _, args, known) => {
    const query = toQuery(args)
    const errors = findUnknown(query, known)
    const place = query.cursor === undefined ? 0 : readIdCursor(query.cursor)
    if (place === null) errors.push({ field: 'cursor', ...faultOf(CURSOR, 'invalid', query.cursor) })
    const from = place ?? 0
    const page = DOC_PAGES.find(({ slug }) => slug === query.page)
    if (!page && (query.page !== undefined || from > 0)) errors.push(WHICH)
    const whole = page ? writeDocPage(page, baseUrl) : ''
    if (page && from >= whole.length) errors.push(BEYOND)
    if (errors.length > 0) return refuseFields(errors)
    if (!page) return { ok: true, pages: DOC_PAGES.map(({ slug, title, summary }) => ({ page: slug, title, summary })) }
    return { ok: true, ...takePiece(whole, from) }
  },
}

/** As much as fits from `from` on, up to a line end. */
function takePiece(whole: string, from: number) {
  const fitting = fitText(whole.slice(from), PAGE_BYTES)
  const end = from + fitting.length
  if (end === whole.length) return { text: fitting, nextCursor: null }
  const text = fitting.slice(0, fitting.lastIndexOf('\n') + 1) || fitting
  return { text, nextCursor: writeIdCursor(from + text.length) }
}
