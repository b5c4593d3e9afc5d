/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { VERSION } from '../../core/version.ts'
import { Document } from './document.tsx'
import { Mark } from '../ui/icon.tsx'

/** `lead` is the state in one sentence; `isNarrow` is for short forms. */
export type LayoutProps = { title: string; lead: ComponentChildren; isNarrow?: boolean; children?: ComponentChildren }

/** A page for an app's end users, without the product's name. */
export const AppLayout = ({ appName, title, lead, children }: LayoutProps & { appName: string | null }) => (
  <Document title={title} site={appName}>
    <div class="plain-frame narrow">
      <header class="brand">{appName !== null && <span>{appName}</span>}</header>
      <main id="main">
        <h1>{title}</h1>
        <p class="lead">{lead}</p>
        {children}
      </main>
    </div>
  </Document>
)

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
