import type { Database } from 'bun:sqlite'
import { domainToASCII } from 'node:url'

const NON_ASCII = `GLOB '*[^' || char(1) || '-' || char(127) || ']*'`

/** Messages could name an internationalized domain as it is read. Sender addresses are compared in punycode. */
export function foldSenders(db: Database): void {
  const settings = db.query<{ appId: number; emails: string }, []>(
    `SELECT app_id AS appId, other_from_emails AS emails FROM app_mail_settings WHERE other_from_emails ${NON_ASCII}`,
  )
  const update = db.query('UPDATE app_mail_settings SET other_from_emails = ? WHERE app_id = ?')
  for (const { appId, emails } of settings.all()) {
    const folded = new Set((JSON.parse(emails) as string[]).map(foldEmail))
    update.run(JSON.stringify([...folded]), appId)
  }
  const domains = db.query<{ domain: string }, []>(
    `SELECT DISTINCT domain FROM sender_domains WHERE domain ${NON_ASCII}`,
  )
  const rename = db.query('UPDATE OR REPLACE sender_domains SET domain = ? WHERE domain = ?')
  for (const { domain } of domains.all()) rename.run(domainToASCII(domain), domain)
}

const foldEmail = (email: string): string => {
  const at = email.lastIndexOf('@') + 1
  return email.slice(0, at) + domainToASCII(email.slice(at))
}
