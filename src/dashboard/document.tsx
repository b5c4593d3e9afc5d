import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { assetUrl } from '../assets.ts'
import { PageContext } from './page-context.ts'

/** In the page itself, so that a browser does not ask for /favicon.ico. */
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='%232b4acb'/><path d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.5'/></svg>"

/** What every page is: its title for the browser's tab, the stylesheet, the islands, the colours that were chosen. */
export function Document({ title, children }: { title: string; children: ComponentChildren }) {
  const { theme } = useContext(PageContext)
  return (
    <html lang="en" data-theme={theme === 'system' ? undefined : theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} - Eventpost`}</title>
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={assetUrl('style.css')} />
        <script type="module" src={assetUrl('islands/page.js')} />
      </head>
      <body>{children}</body>
    </html>
  )
}
