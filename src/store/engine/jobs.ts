import type { EventText, ReadEvent, ReadText } from '../event-texts.ts'
import type { PlannedOutcome, PlannedWrite } from '../plan-types.ts'
import type { RecordedEvent, Refused } from '../types.ts'
import { type createWrites, type Job, type Outcome, textWrite, toTextOutcome, type WriteName } from '../writes.ts'

type Parts = Pick<ReturnType<typeof createWrites>, 'writes' | 'runPlanned'> & { readEvent: ReadEvent }
type Read = { write: PlannedWrite; reading: ReadText | null }
const PLANNED: readonly WriteName[] = ['recordEvent', 'recordBatch', 'addContact', 'updateContact']
const isPlanned = (name: WriteName): boolean => PLANNED.includes(name)
const isOfContact = ({ name }: PlannedWrite): boolean => name === 'addContact' || name === 'updateContact'

/** Runs jobs in order: those that follow one another and can be planned are planned together. */
export function createJobs({ writes, runPlanned, readEvent }: Parts) {
  const runOne = ({ name, input }: Job): Outcome => (writes[name] as (input: Job['input']) => Outcome)(input)

  /** What can be planned; or its outcome where nothing is to be written; null where it runs by itself. */
  const read = ({ name, input }: Job): Read | Outcome | null => {
    if (isPlanned(name)) return { write: { name, input } as PlannedWrite, reading: null }
    if (name !== 'recordEventText') return null
    const reading = readEvent(input as EventText)
    return 'refused' in reading ? reading : { write: textWrite(input as EventText, reading), reading }
  }

  return (jobs: readonly Job[]): Outcome[] => {
    const outcomes: Outcome[] = []
    let batch: PlannedWrite[] = []
    let places: { place: number; reading: ReadText | null }[] = []
    const runBatch = (): void => {
      if (batch.length === 0) return
      const planned = runPlanned(batch)
      for (const [index, { place, reading }] of places.entries()) {
        const outcome = planned[index] as PlannedOutcome
        outcomes[place] = reading ? toTextOutcome(outcome as RecordedEvent | Refused, reading) : outcome
      }
      batch = []
      places = []
    }
    for (const [place, job] of jobs.entries()) {
      const found = read(job)
      if (found === null) {
        runBatch()
        outcomes[place] = runOne(job)
      } else if ('write' in found) {
        // when somebody was seen is read beside a contact, after all that came before it
        if (batch[0] && isOfContact(batch[0]) !== isOfContact(found.write)) runBatch()
        batch.push(found.write)
        places.push({ place, reading: found.reading })
      } else outcomes[place] = found
    }
    runBatch()
    return outcomes
  }
}
