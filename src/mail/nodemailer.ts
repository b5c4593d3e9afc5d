/** nodemailer takes a tenth of the start-up time, so it is loaded on first use. */
import { createLazy } from '../core/lazy.ts'

export const loadConnection = () => import('nodemailer/lib/smtp-connection').then((module) => module.default)

/** Kept, because each import() takes a tenth of a millisecond (measured). */
const mime = createLazy(async () => {
  const [{ default: MimeNode }, { encode, wrap }] = await Promise.all([
    import('nodemailer/lib/mime-node'),
    import('nodemailer/lib/qp'),
  ])
  return { MimeNode, encode, wrap }
})

export type Mime = Awaited<ReturnType<typeof mime.get>>
export const loadMime = mime.get
