import type { MessageCounts, MessageRow } from '../store/message-types.ts'
import { publicId } from '../core/ids.ts'

const iso = (at: number): string => new Date(at).toISOString()

/** States without deliveries are left out. */
export const countsView = (counts: MessageCounts): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

export const messageView = ({ id, name, status, version, createdAt, updatedAt }: MessageRow) => ({
  id: publicId('msg', id),
  name,
  status,
  version,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
})
