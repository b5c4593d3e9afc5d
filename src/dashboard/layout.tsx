import type { ComponentChildren } from 'preact'
import { assetUrl } from '../assets.ts'
import { VERSION } from '../core/version.ts'

/** In the page itself, so that a browser does not ask for /favicon.ico. */
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='%232b4acb'/><path d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.5'/></svg>"

/** `lead` is the one sentence that says how things stand. */
export type LayoutProps = { title: string; lead: ComponentChildren; children?: ComponentChildren }

/** A page for an app's own people, who know the app and have never heard of this service. */
export function AppLayout({ appName, title, lead, children }: LayoutProps & { appName: string | null }) {
  return (
    <html lang="en">
      <Head title={title} site={appName} />
      <body>
        <div class="frame">
          <header class="brand">{appName && <span>{appName}</span>}</header>
          <main>
            <h1>{title}</h1>
            <p class="lead">{lead}</p>
            {children}
          </main>
        </div>
      </body>
    </html>
  )
}

/** The frame of every page that is seen without signing in. */
export function Layout({ title, lead, children }: LayoutProps) {
  return (
    <html lang="en">
      <Head title={title} />
      <body>
        <div class="frame">
          <header class="brand">
            <Mark />
            <span>Eventpost</span>
          </header>
          <main>
            <h1>{title}</h1>
            <p class="lead">{lead}</p>
            {children}
          </main>
          <footer>
            <span>Version {VERSION}</span>
            <a href="/api/v1/docs">API documentation</a>
          </footer>
        </div>
      </body>
    </html>
  )
}

const Head = ({ title, site = 'Eventpost' }: { title: string; site?: string | null }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{site === null ? title : `${title} - ${site}`}</title>
    <link rel="icon" href={ICON} />
    <link rel="stylesheet" href={assetUrl('style.css')} />
  </head>
)

const Mark = () => (
  <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="4" />
    <path d="M4 5h8M4 8h5M4 11h8" />
  </svg>
)
