import { Elysia } from 'elysia'
import { useContext } from 'preact/hooks'
import { redirectAnswer } from './answers.ts'
import { cookieHeader, readCookie } from './cookies.ts'
import { readForm } from './forms.ts'
import { PageContext } from './page-context.ts'
import { Icon } from './parts/icon.tsx'
import { problemAnswer } from './problems.tsx'

const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]

const COOKIE = 'eventpost_theme'
const YEAR_S = 365 * 86_400

const isTheme = (text: string): text is Theme => (THEMES as readonly string[]).includes(text)

/** Which colours somebody chose; `system` is what their device says. */
export function readTheme(request: Request): Theme {
  const text = readCookie(request, COOKIE) ?? ''
  return isTheme(text) ? text : 'system'
}

/** Keeps the choice in a cookie and goes back to where it was made. */
export const themeRoutes = ({ baseUrl }: { baseUrl: string }) =>
  new Elysia().post(
    '/theme',
    async ({ request }) => {
      const form = await readForm(request)
      if ('refusal' in form) return problemAnswer(request, form.refusal)
      const text = form.text('theme')
      const value = isTheme(text) ? text : 'system'
      const isSecure = baseUrl.startsWith('https:')
      const cookie = cookieHeader({ name: COOKIE, value, maxAgeS: YEAR_S, isSecure })
      return redirectAnswer(form.text('to'), [cookie])
    },
    { parse: 'none' },
  )

const NAMES: Record<Theme, string> = { light: 'Light', dark: 'Dark', system: 'As the system' }

/** Not on a page that answers a form: going back to it would lose what it shows. */
export function ThemeSwitch() {
  const { theme, path } = useContext(PageContext)
  if (path === null) return null
  return (
    <form class="themes" method="post" action="/theme" aria-label="Colours">
      <input type="hidden" name="to" value={path} />
      {THEMES.map((name) => (
        <button key={name} type="submit" name="theme" value={name} title={NAMES[name]} aria-pressed={name === theme}>
          <Icon name={name} />
          <span class="unseen">{NAMES[name]}</span>
        </button>
      ))}
    </form>
  )
}
