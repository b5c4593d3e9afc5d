/** Unique among processes by its random beginning, and cheap: a counter follows. */
export function createRequestIds(): () => string {
  const start = crypto.randomUUID().slice(0, 13).replace('-', '')
  let count = 0
  return () => {
    count += 1
    return `req_${start}${count.toString(36).padStart(6, '0')}`
  }
}
