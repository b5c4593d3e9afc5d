/** All pairs of base-36 digits. */
const PAIRS = Array.from({ length: 36 ** 2 }, (_, low) => low.toString(36).padStart(2, '0'))

/** A random prefix per process and a counter, which is cheap. */
export function createRequestIds(): () => string {
  const start = crypto.randomUUID().slice(0, 13).replace('-', '')
  let [count, head] = [0, '']
  return () => {
    const low = count % PAIRS.length
    // joined, so that it is one flat string
    if (low === 0) head = ['req_', start, (count / PAIRS.length).toString(36).padStart(4, '0')].join('')
    count += 1
    return `${head}${PAIRS[low]}`
  }
}
