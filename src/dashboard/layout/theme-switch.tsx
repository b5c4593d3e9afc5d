/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { useContext } from 'preact/hooks'
import { redirectAnswer } from './answers.ts'
import { readForm } from './forms.ts'
import { PageContext } from './page-context.ts'
import { Icon } from '../ui/icon.tsx'
import { problemAnswer } from './problems.tsx'
import { isTheme, type Theme, themeCookie, THEMES } from './theme.ts'

/** Stores the theme in a cookie and returns to the page. */
export const themeRoutes = ({ baseUrl }: { baseUrl: string }) =>
  new Elysia().post(
    '/theme',
    async ({ request }) => {
      const form = await readForm(request)
      if ('refusal' in form) return problemAnswer(request, form.refusal)
      const text = form.text('theme')
      return redirectAnswer(form.text('to'), [themeCookie(baseUrl, isTheme(text) ? text : 'system')])
    },
    { parse: 'none' },
  )

const NAMES: Record<Theme, string> = { light: 'Light', dark: 'Dark', system: 'System' }

/** On the answer to a form the switch needs scripts, because returning would lose the page. */
export function ThemeSwitch() {
  const { theme, path, back } = useContext(PageContext)
  return (
    <form class={path === null ? 'themes staying' : 'themes'} method="post" action="/theme" aria-label="Theme">
      <input type="hidden" name="to" value={back} />
      {THEMES.map((name) => (
        <button key={name} type="submit" name="theme" value={name} title={NAMES[name]} aria-pressed={name === theme}>
          <Icon name={name} />
          <span class="unseen">{NAMES[name]}</span>
        </button>
      ))}
    </form>
  )
}
