/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { VERSION } from '../../core/version.ts'
import { Document } from './document.tsx'
import { Mark } from '../ui/icon.tsx'

/** `lead` is the one sentence that says how things stand; `isNarrow` for a form of a field or two. */
export type LayoutProps = { title: string; lead: ComponentChildren; isNarrow?: boolean; children?: ComponentChildren }

/** A page for an app's own people, who know the app and have never heard of this service. */
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

/** The frame of every page that is seen without signing in. */
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
