/**
 * A batch on its way to the writing thread, as one text: that crosses threads cheaper than objects. First the length of
 * a JSON text, then that, then the texts of events one after another: escaped inside JSON each would be read twice.
 */
import type { EventSender } from '../event-texts.ts'
import type { Job } from '../writes.ts'

/** Of an event that is still a text: the number of its sender in the batch, when it came (ms UTC), and its length. */
type TextMark = [sender: number, at: number, length: number]
type Head = { senders: EventSender[]; jobs: (TextMark | Job)[] }

const END_OF_LENGTH = ' '

const isEventText = (job: Job): job is Job<'recordEventText'> => job.name === 'recordEventText'

export function writeBatch(jobs: Job[]): string {
  const senders = new Map<EventSender, number>()
  const numberOf = (sender: EventSender): number => {
    const number = senders.get(sender) ?? senders.size
    if (number === senders.size) senders.set(sender, number)
    return number
  }
  let texts = ''
  const marked = jobs.map((job): TextMark | Job => {
    if (!isEventText(job)) return job
    const { text, sender, at } = job.input
    texts += text
    return [numberOf(sender), at, text.length]
  })
  const head = toJson({ senders: [...senders.keys()], jobs: marked })
  return `${head.length}${END_OF_LENGTH}${head}${texts}`
}

export function readBatch(batch: string): Job[] {
  const start = batch.indexOf(END_OF_LENGTH) + END_OF_LENGTH.length
  let end = start + Number(batch.slice(0, start))
  const { senders, jobs } = JSON.parse(batch.slice(start, end)) as Head
  return jobs.map((job): Job => {
    if (!Array.isArray(job)) return job
    const [number, at, length] = job
    const text = batch.slice(end, (end += length))
    return { name: 'recordEventText', input: { text, sender: senders[number] as EventSender, at } }
  })
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
