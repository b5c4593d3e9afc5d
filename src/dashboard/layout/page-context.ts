import { createContext } from 'preact'
import type { Theme } from './theme.ts'

/** Facts about the current request. */
export type PageFacts = {
  theme: Theme
  /** of code samples, as last chosen in this browser */
  language: string | null
  /** URL of the page; null for the answer to a form */
  path: string | null
  /** where a form that every page has returns to: the page, or the page of the answered form */
  back: string
}

export const PageContext = createContext<PageFacts>({ theme: 'system', language: null, path: null, back: '/' })
