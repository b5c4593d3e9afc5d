/** nodemailer takes a tenth of the start-up time, so it is loaded on first use. */
export const loadConnection = () => import('nodemailer/lib/smtp-connection').then((module) => module.default)
export const loadComposer = () => import('nodemailer/lib/mail-composer').then((module) => module.default)
export const loadDkim = () => import('nodemailer/lib/dkim').then((module) => module.default)
