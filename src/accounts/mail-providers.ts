/** What the documentation of well-known mail providers says about SMTP, and about their APIs. */
import type { ApiName } from '../core/mail-apis.ts'
import type { HookProvider } from './hook-secrets.ts'

export type Security = 'tls' | 'starttls' | 'optional'

export type MailProvider = {
  id: string
  name: string
  host: string
  port: number
  security: Security
  /** the user name, where it is the same for everyone */
  user?: string
  /** where to find the login */
  hint: string
  /** the hosts of all its regions */
  hosts: RegExp
  /** the SPF mechanism to publish; null where the provider needs no record at the sender's domain */
  spf: string | null
  /** its own API, if Eventpost can use it; better than SMTP. `records`: where it shows the DNS records to add. */
  api?: { name: ApiName; key: string; hint: string; stream?: { label: string; hint: string }; records: string }
  /** its webhooks, if Eventpost reads them */
  hooks?: {
    name: HookProvider
    /** where to add the webhook, and for which events */
    hint: string
    /** an address of the provider whose email bounces, without harm to the sender; null without one */
    simulator: string | null
  }
  /** for emails sent over SMTP, so that webhooks name the delivery; without it, only those of the API do */
  smtpHeaders?: (delivery: string) => [name: string, value: string][]
  /** to every email; Gmail counts none if there are two */
  addsFeedbackId?: true
}

export const MAIL_PROVIDERS: readonly MailProvider[] = [
  {
    id: 'ses',
    name: 'Amazon SES',
    host: 'email-smtp.us-east-1.amazonaws.com',
    port: 587,
    security: 'starttls',
    hint: 'Change us-east-1 to your region. Use SMTP credentials, not AWS keys.',
    hosts: /^email(?:-smtp(?:-fips)?)?\.[a-z0-9-]+\.amazonaws\.com$/,
    spf: 'include:amazonses.com',
    addsFeedbackId: true,
    api: {
      name: 'ses',
      key: 'Secret access key',
      hint: 'Create an access key for an IAM user that can only send. To sync suppressions, also allow ses:ListSuppressedDestinations.',
      stream: { label: 'Configuration set', hint: 'Reports bounces and complaints to a topic.' },
      records:
        'In SES, open Identities, then your domain. It shows three DKIM records, and the records for a MAIL FROM domain.',
    },
    hooks: {
      name: 'ses',
      hint: 'In SNS, create a topic and subscribe this URL. In SES, choose the topic as an event destination of the configuration set.',
      simulator: 'bounce@simulator.amazonses.com',
    },
    smtpHeaders: (delivery) => [['X-SES-MESSAGE-TAGS', `delivery=${delivery}`]],
  },
  {
    id: 'postmark',
    name: 'Postmark',
    host: 'smtp.postmarkapp.com',
    port: 587,
    security: 'starttls',
    hint: 'Use the server API token as username and password.',
    hosts: /^(?:smtp(?:-broadcasts)?|api)\.postmarkapp\.com$/,
    spf: null,
    addsFeedbackId: true,
    api: {
      name: 'postmark',
      key: 'Server API token',
      hint: 'In Postmark, open your server, then API Tokens.',
      stream: { label: 'Message stream', hint: 'Its ID, such as outbound.' },
      records:
        'In Postmark, open Sender Signatures, then DNS Settings. It shows a DKIM record and one for the return path.',
    },
    hooks: {
      name: 'postmark',
      hint: 'In Postmark, open the message stream, then Webhooks. Choose Delivery, Bounce and Spam complaint.',
      // a hard bounce would put the address on Postmark's suppression list
      simulator: 'softbounce@bounce-testing.postmarkapp.com',
    },
    smtpHeaders: (delivery) => [
      ['X-PM-Metadata-delivery', delivery],
      ['X-PM-KeepID', 'true'],
    ],
  },
  {
    id: 'resend',
    name: 'Resend',
    host: 'smtp.resend.com',
    port: 465,
    security: 'tls',
    user: 'resend',
    hint: 'Use an API key as the password.',
    hosts: /^(?:smtp|api)\.resend\.com$/,
    spf: null,
    addsFeedbackId: true,
    api: {
      name: 'resend',
      key: 'API key',
      hint: 'Create a key in Resend under API Keys. Sending access is enough, except to sync suppressions.',
      records: 'In Resend, open Domains. It shows a DKIM record, and SPF and MX records for the return path.',
    },
    hooks: {
      name: 'resend',
      hint: 'In Resend, open Webhooks. Choose email.delivered, email.delivery_delayed, email.bounced, email.complained, email.failed and email.suppressed.',
      simulator: 'bounced@resend.dev',
    },
  },
  {
    id: 'mailgun',
    name: 'Mailgun',
    host: 'smtp.mailgun.org',
    port: 587,
    security: 'starttls',
    hint: "In the EU, use smtp.eu.mailgun.org. Use your domain's SMTP credentials.",
    hosts: /^smtp(?:\.eu)?\.mailgun\.org$/,
    spf: 'include:mailgun.org',
    addsFeedbackId: true,
    hooks: {
      name: 'mailgun',
      hint: 'In Mailgun, open Sending, then Webhooks. Add the URL for delivered messages, permanent failures, temporary failures and spam complaints.',
      simulator: null,
    },
    smtpHeaders: (delivery) => [['X-Mailgun-Variables', JSON.stringify({ delivery })]],
  },
  {
    id: 'sendgrid',
    name: 'SendGrid',
    host: 'smtp.sendgrid.net',
    port: 587,
    security: 'starttls',
    user: 'apikey',
    hint: 'The username is apikey. The password is an API key.',
    hosts: /^smtp(?:\.eu)?\.sendgrid\.net$/,
    spf: 'include:sendgrid.net',
    addsFeedbackId: true,
    hooks: {
      name: 'sendgrid',
      hint: 'In SendGrid, open Mail Settings, then Event Webhooks. Choose the deliverability events and spam reports, and turn on the signature.',
      simulator: null,
    },
    smtpHeaders: (delivery) => [['X-SMTPAPI', JSON.stringify({ unique_args: { delivery } })]],
  },
  {
    id: 'brevo',
    name: 'Brevo',
    host: 'smtp-relay.brevo.com',
    port: 587,
    security: 'starttls',
    hint: 'Find the login and SMTP key under SMTP & API.',
    hosts: /^smtp-relay\.(?:brevo|sendinblue)\.com$/,
    spf: 'include:spf.brevo.com',
    addsFeedbackId: true,
    hooks: {
      name: 'brevo',
      hint: 'In Brevo, open Transactional, Settings, then Webhooks. Choose delivered, deferred, soft bounce, hard bounce, invalid, blocked, error and complaint.',
      simulator: null,
    },
    smtpHeaders: (delivery) => [['X-Mailin-custom', `delivery:${delivery}`]],
  },
  {
    id: 'google',
    name: 'Google Workspace',
    host: 'smtp.gmail.com',
    port: 465,
    security: 'tls',
    hint: 'Use your full address and an app password. Google limits emails per day.',
    hosts: /^smtp(?:-relay)?\.gmail\.com$/,
    spf: 'include:_spf.google.com',
  },
  {
    id: 'fastmail',
    name: 'Fastmail',
    host: 'smtp.fastmail.com',
    port: 465,
    security: 'tls',
    hint: 'Use your full address and an app password.',
    hosts: /^smtp\.fastmail\.com$/,
    spf: 'include:spf.messagingengine.com',
  },
]

export const findProvider = (id: string): MailProvider | null => MAIL_PROVIDERS.find((one) => one.id === id) ?? null

export const providerOfApi = (api: ApiName): MailProvider | null =>
  MAIL_PROVIDERS.find((one) => one.api?.name === api) ?? null

export const providerOfHost = (host: string): MailProvider | null =>
  MAIL_PROVIDERS.find(({ hosts }) => hosts.test(host.toLowerCase())) ?? null
