/** One layout for all emails, 600 pixels wide, light and dark. Tables, because Outlook renders with Word. */
import { type Theme, findTheme } from './theme.ts'

export type LayoutFacts = {
  subject: string
  preheader: string
  html: string
  text: string
  appName: string
  /** language tag, such as de-CH */
  locale: string
  logoUrl: string | null
  colour: string | null
  address: readonly string[]
  /** asks the person to confirm their address */
  asksConsent?: boolean
  unsubscribeUrl: string | null
}

const escape = Bun.escapeHTML

export function layOutHtml(facts: LayoutFacts): string {
  const { light, dark } = findTheme(facts.colour)
  const font = `font-family:${light.sans};font-size:16px;line-height:24px`
  return `<!doctype html>
<html lang="${escape(facts.locale)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escape(facts.subject)}</title>
<style>${sheetOf(dark)}</style>
</head>
<body class="ground" style="margin:0;padding:0;background:${light.ground};-webkit-text-size-adjust:100%">
${preheaderOf(facts.preheader || findFirstSentence(facts.text))}<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="ground" style="background:${light.ground}">
<tr><td align="center" class="around" style="padding:24px 16px">
<!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px">
<tr><td class="ink" style="padding:0 8px 16px;${font};font-weight:600;color:${light.ink}">${brandOf(facts)}</td></tr>
<tr><td class="sheet ink line" dir="auto" style="padding:32px 32px 16px;${font};color:${light.ink};background:${light.sheet};border:1px solid ${light.line};border-radius:8px;word-break:break-word;overflow-wrap:anywhere">
${facts.html}
</td></tr>
<tr><td class="quiet" style="padding:16px 8px 0;font-family:${light.sans};font-size:13px;line-height:20px;color:${light.quiet}">${footerOf(facts, light)}</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</body>
</html>
`
}

/** Dark mode, with Outlook's own selectors. */
const sheetOf = (dark: Theme): string =>
  `:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
${nightOf(dark, '', '')}
}
${nightOf(dark, '[data-ogsc] ', '[data-ogsb] ')}
@media (max-width:480px){
.around{padding:16px 8px!important}
.sheet{padding:24px 20px 8px!important}
}`

const nightOf = (dark: Theme, inks: string, grounds: string): string =>
  `${grounds}.ground{background:${dark.ground}!important}
${grounds}.sheet{background:${dark.sheet}!important}
${grounds}.sunk{background:${dark.sunk}!important}
${inks}.ink{color:${dark.ink}!important}
${inks}.quiet,${inks}.quiet a{color:${dark.quiet}!important}
${inks}.line{border-color:${dark.line}!important}
${inks}.link{color:${dark.link}!important}`

/** Nothing that is seen, but as long as a list of emails shows, so that the text of the email doesn't follow. */
const FILLING = '&#847;&zwnj;&nbsp;'.repeat(80)

/** The line after the subject in lists of emails. Each client hides it in the email by one of these properties. */
const preheaderOf = (preheader: string): string =>
  preheader === ''
    ? ''
    : `<div style="display:none;max-height:0;overflow:hidden;font-size:1px;line-height:1px;mso-hide:all">${escape(preheader)}${FILLING}</div>\n`

const PREVIEW_CHARACTERS = 140

/** A line before the text, such as "Hello Ada!". */
const GREETING =
  /,$|^(?:hi|hello|hey|dear|good (?:morning|day|evening)|hallo|liebe|lieber|guten tag|bonjour|hola|ciao)\b.{0,60}[!:.]$/i

/** The first sentence after the greeting, without addresses of pages. */
function findFirstSentence(text: string): string {
  const isWord = (word: string): boolean => word !== '' && !/^https?:\/\//.test(word)
  const lines = text.split('\n').map((line) => line.split(/\s/).filter(isWord).join(' '))
  const [first = '', ...others] = lines.filter((line) => /\p{L}/u.test(line))
  const line = GREETING.test(first) ? (others[0] ?? first) : first
  const sentence = /^.*?[.!?…](?=\s|$)/u.exec(line)?.[0] ?? line
  return [...sentence].slice(0, PREVIEW_CHARACTERS).join('')
}

/** The alt text shows the name when images are blocked. */
const brandOf = ({ logoUrl, appName }: LayoutFacts): string =>
  logoUrl === null
    ? escape(appName)
    : `<img src="${escape(logoUrl)}" alt="${escape(appName)}" height="32" style="display:block;height:32px;max-width:240px;border:0">`

function footerOf(facts: LayoutFacts, { quiet }: Theme): string {
  const { address, unsubscribeUrl } = facts
  const unsubscribe =
    unsubscribeUrl === null
      ? ''
      : `<br><a href="${escape(unsubscribeUrl)}" style="color:${quiet};text-decoration:underline">Unsubscribe</a>`
  return `${[whyOf(facts), ...address].map(escape).join('<br>')}${unsubscribe}`
}

const whyOf = ({ appName, asksConsent }: LayoutFacts): string =>
  asksConsent
    ? `You received this email because this address was entered at ${appName}.`
    : `You received this email because you use ${appName}.`

export function layOutText(facts: LayoutFacts): string {
  const { text, address, unsubscribeUrl } = facts
  const lines = [whyOf(facts), ...address]
  if (unsubscribeUrl !== null) lines.push(`Unsubscribe: ${unsubscribeUrl}`)
  return `${text}\n\n-- \n${lines.join('\n')}\n`
}
