/**
 * A batch on its way to the writing thread, as one text: that crosses threads cheaper than objects. First the length of
 * a JSON text, then that, then the texts of events one after another: escaped inside JSON each would be read twice.
 */
import type { EventSender, EventText } from '../event-texts.ts'
import type { Job } from '../writes.ts'

type More = Pick<EventText, 'idempotency' | 'refusal'>
/** Of an event that is still a text: the number of its sender, when it came (ms UTC), and its length. */
type TextMark = [sender: number, at: number, length: number, more?: More]
/** `senders`: those whose numbers come after the ones already sent; `isReset`: their numbers begin at 0 again. */
type Head = { isReset: boolean; senders: EventSender[]; jobs: (TextMark | Job)[] }

const END_OF_LENGTH = ' '
/** The writing thread holds no more senders, and no more apps of them, before the numbers begin anew. */
export const MOST_SENDERS = 1_000
const MOST_APPS = 10_000

const isEventText = (job: Job): job is Job<'recordEventText'> => job.name === 'recordEventText'

/** Writes the batches of one thread: each sender crosses with the first of its events. */
export function createBatchWriter(): (jobs: Job[]) => string {
  const numbers = new Map<EventSender, number>()
  let apps = 0

  return (jobs) => {
    const isReset = numbers.size >= MOST_SENDERS || apps >= MOST_APPS
    if (isReset) {
      numbers.clear()
      apps = 0
    }
    const senders: EventSender[] = []
    const numberOf = (sender: EventSender): number => {
      const known = numbers.get(sender)
      if (known !== undefined) return known
      const number = numbers.size
      numbers.set(sender, number)
      senders.push(sender)
      apps += sender.apps.length
      return number
    }
    let texts = ''
    const marked = jobs.map((job): TextMark | Job => {
      if (!isEventText(job)) return job
      const { text, sender, at, idempotency, refusal } = job.input
      texts += text
      const number = numberOf(sender)
      return idempotency || refusal ? [number, at, text.length, { idempotency, refusal }] : [number, at, text.length]
    })
    const head = toJson({ isReset, senders, jobs: marked })
    return `${head.length}${END_OF_LENGTH}${head}${texts}`
  }
}

/** Reads the batches that one `createBatchWriter` wrote, in their order. */
export function createBatchReader(): (batch: string) => Job[] {
  let known: EventSender[] = []

  return (batch) => {
    const start = batch.indexOf(END_OF_LENGTH) + END_OF_LENGTH.length
    let end = start + Number(batch.slice(0, start))
    const { isReset, senders, jobs } = JSON.parse(batch.slice(start, end)) as Head
    if (isReset) known = []
    known.push(...senders)
    return jobs.map((job): Job => {
      if (!Array.isArray(job)) return job
      const [number, at, length, more] = job
      const text = batch.slice(end, (end += length))
      return { name: 'recordEventText', input: { text, sender: known[number] as EventSender, at, ...more } }
    })
  }
}

/** A job that is no JSON (a bigint, a loop) becomes one that the engine fails, and its neighbours are saved. */
function toJson(head: Head): string {
  try {
    return JSON.stringify(head)
  } catch {
    return JSON.stringify({ ...head, jobs: head.jobs.map((job) => (isJson(job) ? job : { ...job, input: null })) })
  }
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
