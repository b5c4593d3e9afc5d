/** What nodemailer needs takes a tenth of a start (measured), so it is loaded with the first mail that is written. */
export const loadConnection = () => import('nodemailer/lib/smtp-connection').then((module) => module.default)
export const loadComposer = () => import('nodemailer/lib/mail-composer').then((module) => module.default)
export const loadDkim = () => import('nodemailer/lib/dkim').then((module) => module.default)
