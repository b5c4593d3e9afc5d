/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { VERSION } from '../../core/version.ts'
import { Document } from './document.tsx'
import { Mark } from '../ui/icon.tsx'

/** `lead` is the state in one sentence; `isNarrow` is for short forms. */
export type LayoutProps = { title: string; lead: ComponentChildren; isNarrow?: boolean; children?: ComponentChildren }

/** A page for an app's end users, without the product's name. */
type AppLayoutProps = LayoutProps & {
  appName: string | null
  logoUrl?: string | null
  lang?: string
  /** URL of a stylesheet with the app's colour */
  look?: string
}

export const AppLayout = ({ appName, logoUrl, lang, look, title, lead, children }: AppLayoutProps) => (
  <Document title={title} site={appName} lang={lang} look={look}>
    <div class="plain-frame narrow">
      <header class="brand">
        {logoUrl ? <img src={logoUrl} alt={appName ?? ''} height={32} /> : appName !== null && <span>{appName}</span>}
      </header>
      <main id="main">
        <h1>{title.split(HYPHENATED).map((part, index) => (index % 2 === 0 ? part : <Unbroken>{part}</Unbroken>))}</h1>
        <p class="lead">{lead}</p>
        {children}
      </main>
    </div>
  </Document>
)

/** A letter with a hyphen, as in "E-Mail". */
const HYPHENATED = /(?<!\p{L})(\p{L}-\p{L}+)/u

const Unbroken = ({ children }: { children: string }) => <span class="unbroken">{children}</span>

/** Frame of pages that need no sign-in. */
export const Layout = ({ title, lead, isNarrow, children }: LayoutProps) => (
  <Document title={title}>
    <div class={isNarrow ? 'plain-frame narrow' : 'plain-frame'}>
      <header class="brand">
        <Mark />
        <span>Eventpost</span>
      </header>
      <main id="main">
        <h1>{title}</h1>
        <p class="lead">{lead}</p>
        {children}
      </main>
      <footer>
        <span>Version {VERSION}</span>
        <a href="/docs">Documentation</a>
      </footer>
    </div>
  </Document>
)
