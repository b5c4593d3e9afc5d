/** What the pages' stylesheet does not have: tables, and a list of contents that stays in sight. */
export const STYLE = `
.docs { display: grid; grid-template-columns: 224px minmax(0, 1fr); gap: 0 64px; max-width: 1120px; margin: 0 auto; padding: 24px }
.docs > header { grid-column: 1 / -1 }
.brand a { padding: 12px 0; color: inherit; text-decoration: none }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 64px 0 24px }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: 4px 0; color: var(--quiet); text-decoration: none; overflow-wrap: anywhere }
nav a:hover { color: var(--accent-strong) }
main { min-width: 0 }
main > * + * { margin-top: 12px }
main > h2 { margin-top: 64px; scroll-margin-top: 24px; overflow-wrap: anywhere }
main > h3 { margin: 24px 0 0; font-size: var(--size-lead); font-weight: 600 }
table { border-collapse: collapse }
th, td { padding: 8px 24px 8px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { color: var(--quiet); font-weight: 400 }
td:first-child code { white-space: nowrap }
@media (max-width: 799px) {
  .docs { display: block; padding: 16px }
  nav { position: static; max-height: none; padding: 24px 0 0 }
  nav ul { columns: 2 }
  nav a { padding: 12px 0 }
  main { padding: 24px 0 }
  table, tbody, tr, td { display: block }
  thead { display: none }
  tr { padding: 8px 0; border-bottom: 1px solid var(--line) }
  td { padding: 4px 0; border: 0; overflow-wrap: anywhere }
  td:first-child code { white-space: normal }
  td::before { content: attr(data-label) ' '; color: var(--quiet) }
}
@media print {
  nav { display: none }
  .docs { display: block }
}
`
