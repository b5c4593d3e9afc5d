import { NO_TEXTS } from '../../src/accounts/app-texts.ts'
import { DEFAULT_PLACE } from '../../src/messages/template-values.ts'
import type { MailFacts, MailTemplate, RenderedMail } from '../../src/messages/mailer.ts'
import { renderMail } from '../../src/mail/render.ts'

export const UNSUBSCRIBE = 'https://post.example.com/u/AbCdEf0123456789AbCdEf0123456789'

export const TEMPLATE: MailTemplate = {
  subject: '{{ event.headline }}',
  preheader: 'They are waiting for you.',
  category: 'lifecycle',
  html: '',
  body: 'Hello {{ contact.firstName | default: "there" }},\n\n{{ event.headline }}\n\n[See your results]({{ event.url }})\n',
}

export const RESULTS = { headline: 'Your 12 pictures are ready.', url: 'https://app.example.com/results/1' }

export const CONTACT = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', tags: ['beta'], fields: {} }

export const BARE: MailFacts['style'] = {
  logoUrl: null,
  colour: null,
  postalAddress: null,
  layout: null,
  texts: NO_TEXTS,
  lang: 'en',
}

export const makeFacts = (properties: object = RESULTS, facts: Partial<MailFacts> = {}): MailFacts => ({
  contact: CONTACT,
  event: { properties: JSON.stringify(properties) },
  app: {
    name: 'Picture Studio',
    homeUrl: 'https://app.example.com/home',
    ...DEFAULT_PLACE,
    hosts: ['app.example.com'],
  },
  unsubscribeUrl: UNSUBSCRIBE,
  style: { ...BARE, postalAddress: 'Picture Studio Ltd\n1 Long Street, London' },
  ...facts,
})

/** @throws Error with the fault */
export function renderForTest(template: Partial<MailTemplate> = {}, facts = makeFacts()): RenderedMail {
  const mail = renderMail({ ...TEMPLATE, ...template }, facts)
  if (!('html' in mail)) throw new Error(JSON.stringify(mail))
  return mail
}
