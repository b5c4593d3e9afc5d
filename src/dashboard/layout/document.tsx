/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { assetUrl, ICON } from '../../assets.ts'
import { directionOf } from '../../core/languages.ts'
import { PageContext } from './page-context.ts'

/** Optional scripts of single pages. */
export type Island = 'feed' | 'chart' | 'live' | 'message' | 'docs'

const END = 'end'
/** No paint before the content has arrived, so that nothing moves while a page loads. */
const AWAIT_CONTENT = { rel: 'expect', href: `#${END}`, blocking: 'render' }

type DocumentProps = {
  title: string
  site?: string | null
  /** of a page for an app's end users */
  lang?: string
  islands?: Island[]
  /** URL of a further stylesheet */
  look?: string
  /** URL of a file that opens by itself */
  opens?: string
  children: ComponentChildren
}

export function Document({ title, site = 'Eventpost', lang, islands = [], look, opens, children }: DocumentProps) {
  const { theme, path } = useContext(PageContext)
  return (
    <html
      lang={lang ?? 'en'}
      dir={lang === undefined ? undefined : directionOf(lang)}
      data-theme={theme === 'system' ? undefined : theme}
      data-form={path === null ? 'sent' : undefined}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{site === null ? title : `${title} - ${site}`}</title>
        <link rel="icon" href={ICON} />
        <link {...AWAIT_CONTENT} />
        <link rel="stylesheet" href={assetUrl('style.css')} />
        {opens && <meta http-equiv="refresh" content={`0;url=${opens}`} />}
        {look && <link rel="stylesheet" href={look} />}
        {(['page', ...islands] as const).map((name) => (
          <script key={name} type="module" src={assetUrl(`islands/${name}.js`)} />
        ))}
      </head>
      <body>
        {children}
        <div id={END} hidden />
      </body>
    </html>
  )
}
