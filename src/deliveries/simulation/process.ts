/**
 * The process in which a simulation reads a million events: with a read-only connection of its own, so that neither
 * requests nor writes wait for it, and with memory and collections of its own, which a thread would share
 * with those who send events (measured: beside a thread they kept 74 to 82 % of their rate). It takes one request from
 * standard input and answers it on standard output.
 */
import { openForReading } from '../../store/database.ts'
import { createSimulationReads } from '../../store/simulation-reads.ts'
import { simulate, type Simulation } from './run.ts'
import { type SimulationInput } from './decisions.ts'
import { stepBack } from './step-back.ts'

/** `askedBy`: the process of the service. */
export type ToSimulation = { folder: string; input: SimulationInput; askedBy: number }
export type FromSimulation = { simulation: Simulation } | { failure: string }

/** Answers the request of the service that started this process; where that has ended, nobody reads it. */
export async function answerSimulation([pace]: string[]): Promise<void> {
  const giveWay = stepBack(pace === 'low' ? pace : 'idle')
  const request = (await Bun.stdin.json()) as ToSimulation
  // it has ended before this process could ask to end with it
  if (process.ppid !== request.askedBy) return
  await Bun.write(Bun.stdout, JSON.stringify(answerTo(request, giveWay))).catch(() => {})
}

function answerTo({ folder, input }: ToSimulation, giveWay: () => void): FromSimulation {
  try {
    const db = openForReading(folder)
    try {
      return { simulation: simulate(createSimulationReads(db, { until: input.now, giveWay }), input) }
    } finally {
      db.close()
    }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
