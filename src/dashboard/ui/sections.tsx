/** @jsxImportSource preact */

export type SectionLink = { name: string; href: string; isCurrent: boolean }

/** Pages that belong together, as one entry of the sidebar. */
export const SectionLinks = ({ label, links }: { label: string; links: SectionLink[] }) => (
  <nav class="sections" aria-label={label}>
    {links.map(({ name, href, isCurrent }) => (
      <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)
