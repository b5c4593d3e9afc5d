import { createContext } from 'preact'
import type { Theme } from './theme.ts'

/** What any part of a page may need to know of the request it answers. */
export type PageFacts = {
  theme: Theme
  /** where the page can be seen again; null where it cannot, because a form was answered with it */
  path: string | null
}

export const PageContext = createContext<PageFacts>({ theme: 'system', path: null })
