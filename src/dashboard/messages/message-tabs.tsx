/** @jsxImportSource preact */
import type { MessageRow } from '../../messages/messages.ts'
import { deliveriesPath } from '../deliveries/deliveries-view.ts'
import { messagePath, resultsPath } from './messages-page.tsx'
import { SectionLinks } from '../ui/sections.tsx'
import type { Viewer } from '../layout/viewer.ts'

type TabsProps = { viewer: Viewer; message: MessageRow; page: 'results' | 'editor' | 'versions' | 'deliveries' }

/** Pages of one message. */
export function MessageTabs({ viewer, message, page }: TabsProps) {
  const { publicId } = viewer.app
  const path = messagePath(publicId, message.id)
  const links = [
    { name: 'Results', href: resultsPath(publicId, message.id), isCurrent: page === 'results' },
    { name: 'Editor', href: path, isCurrent: page === 'editor' },
    { name: 'Versions', href: `${path}/versions`, isCurrent: page === 'versions' },
    { name: 'Deliveries', href: deliveriesPath(publicId, { messageId: message.id }), isCurrent: page === 'deliveries' },
  ]
  return <SectionLinks label="This message" links={links} />
}
