import { trimSlash } from '../core/urls.ts'

export const isSamePath = (path: string, other: string): boolean => trimSlash(path) === trimSlash(other)

export const isPathLike = (path: string, pattern: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : isSamePath(path, pattern)
