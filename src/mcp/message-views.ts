import { mayHaveArrivedTwice } from '../deliveries/deliveries.ts'
import type { DeliveryRow, MessageCounts, MessageRow } from '../store/message-types.ts'
import { publicId } from '../core/ids.ts'

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

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

/** `dueAt`: when the rules are decided; `joinedTo`: the delivery whose email lists the event. */
export const deliveryView = (row: DeliveryRow) => ({
  id: publicId('dlv', row.id),
  messageId: publicId('msg', row.messageId),
  version: row.version,
  contactId: publicId('con', row.contactId),
  state: row.state,
  reason: row.reason,
  triggeredAt: iso(row.triggeredAt),
  dueAt: iso(row.dueAt),
  sentAt: isoOrNull(row.sentAt),
  cameBackAt: isoOrNull(row.cameBackAt),
  openedAt: isoOrNull(row.openedAt),
  mayHaveArrivedTwice: mayHaveArrivedTwice(row),
  joinedTo: row.joinedTo === null ? null : publicId('dlv', row.joinedTo),
})
