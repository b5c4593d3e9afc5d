/** The layout of emails: 600 pixels wide, light and dark. Tables, because Outlook renders with Word. */
import { directionOf } from '../core/languages.ts'
import { sayText, type ShownTexts } from '../accounts/app-texts.ts'
import { findTheme, type Theme } from './theme.ts'

export type LayoutFacts = {
  subject: string
  preheader: string
  html: string
  text: string
  appName: string
  homeUrl: string | null
  /** language tag, such as de-CH */
  lang: string
  texts: Pick<ShownTexts, 'texts'>
  logoUrl: string | null
  colour: string | null
  address: readonly string[]
  /** asks the person to confirm their address */
  asksConsent?: boolean
  unsubscribeUrl: string | null
}

/** HTML, or Liquid where an app begins its own layout. */
type Pieces = Record<
  'lang' | 'dir' | 'subject' | 'preheader' | 'brand' | 'content' | 'footer' | 'darkLinkColour',
  string
>

const escape = Bun.escapeHTML
const { light: LIGHT, dark: DARK } = findTheme(null)

export function layOutHtml(facts: LayoutFacts): string {
  const { subject, appName, lang, texts, logoUrl, colour, address, unsubscribeUrl } = facts
  const name = escape(appName)
  return writeLayout({
    lang: escape(lang),
    dir: directionOf(lang),
    subject: escape(subject),
    preheader: hidePreheader(facts),
    brand: logoUrl === null ? name : showLogo(escape(logoUrl), name),
    content: facts.html,
    footer: [
      ...[reasonOf(facts), ...address].map(escape),
      ...(unsubscribeUrl === null
        ? []
        : [showUnsubscribe(escape(unsubscribeUrl), escape(sayText(texts, 'unsubscribe', { app: appName })))]),
    ].join('<br>'),
    darkLinkColour: findTheme(colour).dark.link,
  })
}

/** The same layout, for an app to change. */
export const writeDefaultLayout = (): string =>
  writeLayout({
    lang: '{{ lang }}',
    dir: '{{ dir }}',
    subject: '{{ subject }}',
    preheader: '{{ preheader }}',
    brand: `{% if logoUrl %}${showLogo('{{ logoUrl }}', '{{ app.name }}')}{% else %}{{ app.name }}{% endif %}`,
    content: '{{ content }}',
    footer: `{{ reason }}{% for line in postalAddress %}<br>{{ line }}{% endfor %}{% if unsubscribeUrl %}<br>${showUnsubscribe('{{ unsubscribeUrl }}', '{{ unsubscribeText }}')}{% endif %}`,
    darkLinkColour: '{{ darkLinkColour }}',
  })

function writeLayout({ lang, dir, subject, preheader, brand, content, footer, darkLinkColour }: Pieces): string {
  const { sans, ground, sheet, ink, quiet, line } = LIGHT
  const font = `font-family:${sans};font-size:16px;line-height:24px`
  return `<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${subject}</title>
<style>${sheetOf({ ...DARK, link: darkLinkColour })}</style>
</head>
<body class="ground" style="margin:0;padding:0;background:${ground};-webkit-text-size-adjust:100%">
${preheader}<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="ground" style="background:${ground}">
<tr><td align="center" class="around" style="padding:24px 16px">
<!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" dir="${dir}" style="max-width:600px">
<tr><td class="ink" style="padding:0 8px 16px;${font};font-weight:600;color:${ink}">${brand}</td></tr>
<tr><td class="sheet ink line" dir="auto" style="padding:32px 32px 16px;${font};color:${ink};background:${sheet};border:1px solid ${line};border-radius:8px;word-break:break-word;overflow-wrap:anywhere">
${content}
</td></tr>
<tr><td class="quiet" style="padding:16px 8px 0;font-family:${sans};font-size:13px;line-height:20px;color:${quiet}">${footer}</td></tr>
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
.action{width:100%!important}
.action a{display:block!important;text-align:center!important}
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
const FILLING = `${'&#847;&zwnj;&nbsp;'.repeat(40)}\n`.repeat(2)

/** The line after the subject in lists of emails. Each client hides it in the email by one of these properties. */
export function hidePreheader({ preheader, text }: Pick<LayoutFacts, 'preheader' | 'text'>): string {
  const line = preheader || findFirstSentence(text)
  return line === ''
    ? ''
    : `<div style="display:none;visibility:hidden;opacity:0;max-height:0;max-width:0;overflow:hidden;font-size:1px;line-height:1px;mso-hide:all">${escape(line)}${FILLING}</div>\n`
}

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
const showLogo = (url: string, name: string): string =>
  `<img src="${url}" alt="${name}" height="32" style="display:block;height:32px;max-width:240px;border:0">`

const showUnsubscribe = (url: string, text: string): string =>
  `<a href="${url}" style="color:${LIGHT.quiet};text-decoration:underline">${text}</a>`

export const reasonOf = ({ texts, appName: app, asksConsent }: LayoutFacts): string =>
  sayText(texts, asksConsent ? 'consentReason' : 'reason', { app })

export function layOutText(facts: LayoutFacts): string {
  const { text, address, unsubscribeUrl } = facts
  const lines = [reasonOf(facts), ...address]
  if (unsubscribeUrl !== null)
    lines.push(`${sayText(facts.texts, 'unsubscribe', { app: facts.appName })}: ${unsubscribeUrl}`)
  return `${text}\n\n-- \n${lines.join('\n')}\n`
}
