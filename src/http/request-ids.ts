/** The last two digits of a number in base 36. */
const PAIRS = Array.from({ length: 36 ** 2 }, (_, low) => low.toString(36).padStart(2, '0'))

/** Unique among processes by its random beginning, and cheap: a counter follows, of which most digits stay for a while. */
export function createRequestIds(): () => string {
  const start = crypto.randomUUID().slice(0, 13).replace('-', '')
  let [count, head] = [0, '']
  return () => {
    const low = count % PAIRS.length
    // joined, so that it is one text already
    if (low === 0) head = ['req_', start, (count / PAIRS.length).toString(36).padStart(4, '0')].join('')
    count += 1
    return `${head}${PAIRS[low]}`
  }
}
