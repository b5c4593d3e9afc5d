import type { EventText, ReadEvent, ReadText } from '../event-texts.ts'
import type { PlannedOutcome, PlannedWrite } from '../plan-types.ts'
import type { RecordedEvent, Refused } from '../types.ts'
import { type createWrites, type Job, type Outcome, textWrite, toTextOutcome, type WriteName } from '../writes.ts'

type Parts = Pick<ReturnType<typeof createWrites>, 'writes' | 'runPlanned'> & { readEvent: ReadEvent }
/** `place`: of the job; `reading`: of an event that came as a text. */
type Read = { place: number; write: PlannedWrite; reading: ReadText | null }
const PLANNED: ReadonlySet<WriteName> = new Set(['recordEvent', 'recordBatch', 'addContact', 'updateContact'])
const isOfContact = ({ name }: PlannedWrite): boolean => name === 'addContact' || name === 'updateContact'

/** Runs jobs in order: those that follow one another and can be planned are planned together. */
export function createJobs({ writes, runPlanned, readEvent }: Parts) {
  const runOne = ({ name, input }: Job): Outcome =>
    (writes[name as keyof typeof writes] as (input: Job['input']) => Outcome)(input)

  /** What can be planned; or its outcome where nothing is to be written; null where it runs by itself. */
  const read = (job: Job, place: number): Read | Outcome | null => {
    if (job.name === 'recordEventText') {
      const event = job.input as EventText
      const reading = readEvent(event)
      return 'refused' in reading ? reading : { place, write: textWrite(event, reading), reading }
    }
    return PLANNED.has(job.name) ? { place, write: job as PlannedWrite, reading: null } : null
  }

  return (jobs: readonly Job[]): Outcome[] => {
    const outcomes: Outcome[] = []
    let batch: PlannedWrite[] = []
    let reads: Read[] = []
    const runBatch = (): void => {
      if (batch.length === 0) return
      const planned = runPlanned(batch)
      for (const [index, { place, reading }] of reads.entries()) {
        const outcome = planned[index] as PlannedOutcome
        outcomes[place] = reading ? toTextOutcome(outcome as RecordedEvent | Refused, reading) : outcome
      }
      batch = []
      reads = []
    }
    for (const [place, job] of jobs.entries()) {
      const found = read(job, place)
      if (found === null) {
        runBatch()
        outcomes[place] = runOne(job)
      } else if ('write' in found) {
        // when somebody was seen is read beside a contact, after all that came before it
        if (batch[0] && isOfContact(batch[0]) !== isOfContact(found.write)) runBatch()
        batch.push(found.write)
        reads.push(found)
      } else outcomes[place] = found
    }
    runBatch()
    return outcomes
  }
}
