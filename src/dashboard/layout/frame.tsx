/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { cleanText } from '../../core/visible-text.ts'
import { hasRole } from '../../accounts/members.ts'
import { Document, type Island } from './document.tsx'
import { Icon, type IconName, Mark } from '../ui/icon.tsx'
import { Flash } from '../ui/notice.tsx'
import { Zone } from '../ui/time.tsx'
import { PageContext } from './page-context.ts'
import { ThemeSwitch } from './theme-switch.tsx'
import type { OwnAccount, Viewer } from './viewer.ts'
import { TitleText } from '../ui/text.tsx'

const PAGES = {
  overview: { name: 'Overview', icon: 'overview' },
  activation: { name: 'Activation', icon: 'activation' },
  events: { name: 'Events', icon: 'events' },
  people: { name: 'People', icon: 'people' },
  messages: { name: 'Messages', icon: 'messages' },
  deliveries: { name: 'Deliveries', icon: 'deliveries' },
  sender: { name: 'Sender', icon: 'sender' },
  keys: { name: 'API keys', icon: 'keys' },
  requests: { name: 'Requests', icon: 'requests' },
  settings: { name: 'Settings', icon: 'settings' },
  members: { name: 'Members', icon: 'members' },
  system: { name: 'System', icon: 'server' },
} as const satisfies Record<string, { name: string; icon: IconName }>

export const isListedPage = (name: string): name is keyof typeof PAGES => Object.hasOwn(PAGES, name)

export const nameOfPage = (page: keyof typeof PAGES): string => PAGES[page].name

/** Entries above this one are about people and emails. */
const FIRST_OF_SETUP = 'sender'

/** `unknown`: a page that doesn't exist, so the sidebar marks no page as current. */
export type PageName = keyof typeof PAGES | 'you' | 'new-app' | 'docs' | 'unknown'

export type SenderPage =
  | 'sender'
  | 'sender/layout'
  | 'sender/texts'
  | 'sender/server'
  | 'sender/domain'
  | 'sender/limits'
  | 'sender/opt-in'
  | 'sender/topics'
  | 'sender/rates'

type SubPage = 'overview/people' | 'system/test' | 'feed' | 'outbox' | 'suppressions' | 'audit' | SenderPage

export const pathOf = (appId: string, page: PageName | SubPage): string => `/apps/${appId}/${page}`

/** Where an app starts: Activation, and Overview once something arrived. */
export const homePath = (appId: string, { isActivated }: { isActivated: boolean }): string =>
  pathOf(appId, isActivated ? 'overview' : 'activation')

/** Pages that exist in every app. Overview leads on to Activation where nothing arrived yet. */
const pageElsewhere = (page: PageName): PageName =>
  page === 'new-app' || page === 'activation' || page === 'system' || page === 'unknown' ? 'overview' : page

/** Activation makes room for Overview, which leads to it while steps are missing. The current page is listed. */
const isListed = (name: string, page: PageName, { isActivated, isOperator }: Viewer): boolean => {
  if (name === 'system') return isOperator
  return name === page || name !== (isActivated ? 'activation' : 'overview')
}

type FrameProps = {
  viewer: Viewer
  page: PageName
  title: string
  /** title of the browser tab, if the heading isn't unique */
  tabTitle?: string
  state: ComponentChildren
  action?: ComponentChildren
  /** title and action stay in view */
  isSticky?: boolean
  islands?: Island[]
  /** URL of a file that opens by itself */
  opens?: string
  children?: ComponentChildren
}

/** Frame of all member pages: a sidebar, below 800 pixels a menu bar. */
export const Frame = ({
  viewer,
  page,
  title,
  tabTitle = title,
  state,
  action,
  isSticky,
  islands,
  opens,
  children,
}: FrameProps) => (
  <Document title={`${tabTitle} - ${viewer.app.name}`} islands={islands} opens={opens}>
    <SkipLink />
    <div class="frame">
      <Bar name={viewer.app.name} />
      <Sidebar viewer={viewer} page={page} />
      <main id="main" data-now={viewer.now}>
        <Zone.Provider value={viewer.app.timezone}>
          <PageHead title={title} state={state} action={action} isSticky={isSticky} />
          {viewer.flash && <Flash kind={viewer.flash.kind}>{viewer.flash.text}</Flash>}
          {children}
        </Zone.Provider>
      </main>
    </div>
  </Document>
)

export const SkipLink = () => (
  <a class="skip" href="#main">
    Skip to content
  </a>
)

export const Bar = ({ name }: { name: string }) => (
  <header class="bar">
    <Mark />
    <span>{name}</span>
    <button class="button plain" type="button" popovertarget="menu">
      <Icon name="menu" />
      Menu
    </button>
  </header>
)

export const Sidebar = ({ viewer, page }: { viewer: Viewer; page: PageName }) => (
  <nav class="sidebar" id="menu" popover aria-label="Main">
    <Switcher viewer={viewer} page={page} />
    <ul>
      {Object.entries(PAGES)
        .filter(([name]) => isListed(name, page, viewer))
        .map(([name, { name: title, icon }]) => (
          <li key={name} class={name === FIRST_OF_SETUP ? 'apart' : undefined}>
            <Item href={`/apps/${viewer.app.publicId}/${name}`} icon={icon} isCurrent={name === page}>
              {title}
            </Item>
          </li>
        ))}
    </ul>
    <div class="foot">
      <Item href="/docs" icon="docs" isCurrent={page === 'docs'}>
        Documentation
      </Item>
      <Item href={pathOf(viewer.app.publicId, 'you')} icon="person" isCurrent={page === 'you'}>
        {viewer.member.email}
      </Item>
      <form method="post" action="/sign-out">
        <button class="item" type="submit">
          <Icon name="leave" />
          Sign out
        </button>
      </form>
      <ThemeSwitch />
    </div>
  </nav>
)

type ItemProps = { href: string; icon: IconName; isCurrent: boolean; children: string }

export const Item = ({ href, icon, isCurrent, children }: ItemProps) => (
  <a class="item" href={href} aria-current={isCurrent ? 'page' : undefined}>
    <Icon name={icon} />
    <span>{children}</span>
  </a>
)

type SwitcherProps = { viewer: Viewer; page: PageName }

/** App switcher; keeps the current page. */
const Switcher = ({ viewer, page }: SwitcherProps) => {
  const { account, accounts, app, member } = viewer
  const isOnly = accounts.length === 1
  return (
    <details class="switcher" name="switcher">
      <summary class="item">
        <Mark />
        <span>
          <b>{app.name}</b>
          <small>Account {account.name}</small>
        </span>
        <Icon name="chevrons" />
      </summary>
      <div class={isOnly ? 'menu' : 'menu wide'}>
        <div class="account-apps">
          {accounts.map((one) => (
            <AccountApps key={one.id} account={one} {...{ viewer, page }} />
          ))}
        </div>
        {hasRole(member.role, 'owner') && (
          <div class="make">
            <a class="item more" href={pathOf(app.publicId, 'new-app')}>
              <Icon name="plus" />
              <span>{isOnly ? 'New app' : `New app in account ${account.name}`}</span>
            </a>
          </div>
        )}
      </div>
    </details>
  )
}

/** The documentation is the same for all apps, except for the IDs in its samples. */
const hrefIn = (appId: string, page: PageName, path: string | null): string =>
  page === 'docs'
    ? `${pathOf(appId, 'docs')}?${new URLSearchParams({ to: path ?? '/docs' })}`
    : pathOf(appId, pageElsewhere(page))

const AccountApps = ({ account: { id, name, apps }, viewer, page }: SwitcherProps & { account: OwnAccount }) => {
  const { path } = useContext(PageContext)
  return (
    <div>
      <p id={`account-${id}`}>Account {name}</p>
      <ul aria-labelledby={`account-${id}`}>
        {apps.map((app) => (
          <li key={app.publicId}>
            <a
              class="item"
              href={hrefIn(app.publicId, page, path)}
              aria-current={app.publicId === viewer.app.publicId ? 'true' : undefined}
            >
              <span>{app.name}</span>
              {app.publicId === viewer.app.publicId && <Icon name="check" />}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Longer ones are smaller. */
const LONG_TITLE = 40

/** Titles may contain user input. */
export const PageHead = ({
  title,
  state,
  action,
  isSticky,
}: {
  title: string
  state: ComponentChildren
  action?: ComponentChildren
  isSticky?: boolean
}) => (
  <header class={isSticky ? 'page-head sticky' : 'page-head'}>
    <div>
      <h1
        class={title.length > LONG_TITLE ? 'long' : undefined}
        title={title.length > LONG_TITLE ? cleanText(title) : undefined}
      >
        <TitleText>{title}</TitleText>
      </h1>
      <p class="lead">{state}</p>
    </div>
    {action && (
      <div class="action" data-live="action">
        {action}
      </div>
    )}
  </header>
)
