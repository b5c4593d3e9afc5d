import { Type } from '@sinclair/typebox'
import { idCursorRule, PAGE, readIdCursor, refuseUnknown, writeIdCursor } from '../../http/queries.ts'
import { refuseFields } from '../../core/refusals.ts'
import { DOC_PAGES, writeDocPage } from '../../docs/index.ts'
import { createReader } from '../../core/inputs.ts'
import { withoutNulls } from '../arguments.ts'
import { fitText, PAGE_BYTES } from '../budget.ts'
import { takes, type Tool } from './tool.ts'

const SLUGS = DOC_PAGES.map(({ slug }) => slug)
const WHICH = { field: 'page', code: 'invalid', message: `Send one of ${SLUGS.join(', ')}.` }
// a list of pages here would fill the list of tools; this tool returns one
const PAGES = takes({ page: Type.Optional(Type.String({ description: 'From the list.' })), cursor: PAGE.cursor })
const readPiece = createReader({
  schema: PAGES,
  clean: ({ page, cursor }) => {
    const from = cursor === undefined ? 0 : readIdCursor(cursor)
    return from === null ? null : { page, from }
  },
  rules: () => ({ cursor: idCursorRule }),
})
const BEYOND = {
  field: 'cursor',
  code: 'invalid',
  message: 'Send `nextCursor` from the previous part of the same page.',
}

export const getDocs: Tool = {
  name: 'get_docs',
  title: 'Get docs',
  description: 'Lists pages, or returns one.',
  kind: 'read',
  input: PAGES,
  run: ({ baseUrl }, _, args, known) => {
    const reading = refuseUnknown(readPiece, withoutNulls(args), null, known)
    if ('errors' in reading) return refuseFields(reading.errors)
    const { page: asked, from } = reading.input
    const page = DOC_PAGES.find(({ slug }) => slug === asked)
    if (!page && (asked !== undefined || from > 0)) return refuseFields([WHICH])
    const whole = page ? writeDocPage(page, baseUrl) : ''
    if (page && from >= whole.length) return refuseFields([BEYOND])
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
