/** @jsxImportSource preact */

export type SectionLink = { name: string; href: string; isCurrent: boolean }

/** Tabs of pages that share a sidebar entry. */
export const SectionLinks = ({ label, links }: { label: string; links: SectionLink[] }) => (
  <nav class="sections" aria-label={label}>
    {links.map(({ name, href, isCurrent }) => (
      <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)
