/** @jsxImportSource preact */
/** On a grid of 16, in the text colour. */
const PATHS = {
  overview: 'M2 14V2M2 14h12M5 11V8M8.5 11V4.5M12 11V6.5',
  activation: 'M8.5 1.5 3 9h4l-.5 5.5L12.5 7H8z',
  keys: 'M10.5 9.5a4 4 0 1 0-4-4c0 .5.1 1 .3 1.4L2 11.7V14h2.5v-1.7h1.8v-1.8h1.8l.9-.9c.5.2 1 .3 1.5.3zM11.4 4.6h.01',
  requests: 'M1.5 5.5h11M9.5 2.5l3 3-3 3M14.5 11h-11M6.5 8l-3 3 3 3',
  settings:
    'M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  members:
    'M1.5 3h13v10h-13zM5.5 8a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6zM3.5 10.7c.3-1 1-1.5 2-1.5s1.7.5 2 1.5M10 6.5h2.5M10 9.5h2.5',
  server: 'M2 2.5h12v4.5H2zM2 9h12v4.5H2zM4.5 4.8h.01M4.5 11.2h.01M8 4.8h3.5M8 11.2h3.5',
  events: 'M1.5 8H5l2-5 2.5 10 2-5h3',
  people:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.4-2.3 2.2-3.5 4.5-3.5s4.1 1.2 4.5 3.5M10.8 2.7a2.5 2.5 0 0 1 0 4.6M12.4 10.4c1.2.5 1.9 1.6 2.1 3.1',
  messages: 'M1.5 3.5h13v9h-13zM1.5 4 8 9l6.5-5',
  deliveries: 'M2 4.5h8M2 8h8M2 11.5h8M12 4.5l1 1 1.5-2M12 8l1 1 1.5-2M12 11.5l1 1 1.5-2',
  sender: 'M14.5 1.5 1.5 6.5l5 2 2 6zM14.5 1.5l-8 7',
  page: 'M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3',
  action: 'M3 2.5 13 8l-4.3 1.3L7 13.5z',
  docs: 'M8 4C6.8 3 5 2.5 1.5 2.5v10C5 12.5 6.8 13 8 14c1.2-1 3-1.5 6.5-1.5v-10C11 2.5 9.2 3 8 4zM8 4v10',
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM10.6 10.6 14 14',
  person: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.6-2.6 2.8-4 5.5-4s4.9 1.4 5.5 4',
  leave: 'M6 2.5H2.5v11H6M10.5 4.5 14 8l-3.5 3.5M14 8H6',
  plus: 'M8 3v10M3 8h10',
  menu: 'M2 4h12M2 8h12M2 12h12',
  chevrons: 'm5 6 3-3 3 3M5 10l3 3 3-3',
  circle: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  warning: 'M8 2 1.5 13.5h13zM8 6.5v3.2M8 11.6h.01',
  info: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 7.3v4M8 4.8h.01',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M13 3l-1.1 1.1M4.1 11.9 3 13',
  dark: 'M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z',
  system: 'M1.5 2.5h13v8.5h-13zM5.5 14h5M8 11v3',
} as const

export type IconName = keyof typeof PATHS

/** Always next to a word. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)

export const Mark = () => (
  <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="4" />
    <path d="M4 5h8M4 8h5M4 11h8" />
  </svg>
)
