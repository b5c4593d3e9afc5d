/** @jsxImportSource preact */
import type { MessageRow } from '../../messages/messages.ts'
import { deliveriesPath } from '../deliveries/delivery-labels.tsx'
import { messagePath } from './messages-page.tsx'
import { SectionLinks } from '../ui/sections.tsx'
import type { Viewer } from '../layout/viewer.ts'

type TabsProps = { viewer: Viewer; message: MessageRow; page: 'editor' | 'versions' }

/** Pages of one message. */
export function MessageTabs({ viewer, message, page }: TabsProps) {
  const path = messagePath(viewer.app.publicId, message.id)
  const links = [
    { name: 'Editor', href: path, isCurrent: page === 'editor' },
    { name: 'Versions', href: `${path}/versions`, isCurrent: page === 'versions' },
    { name: 'Deliveries', href: deliveriesPath(viewer.app.publicId, message), isCurrent: false },
  ]
  return <SectionLinks label="This message" links={links} />
}
