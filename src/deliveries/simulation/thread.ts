import { openForReading } from '../../store/engine/database.ts'
import { createSimulationReads } from '../../store/simulation.ts'
import { type Progress, simulate, type Simulation, type SimulationInput } from './simulate.ts'

declare const self: Worker

export type ToSimulation = { folder: string; input: SimulationInput; most: number }
export type FromSimulation = { progress: Progress } | { simulation: Simulation } | { failure: string }

const post = (message: FromSimulation): void => self.postMessage(message)

self.onmessage = async ({ data: { folder, input, most } }: MessageEvent<ToSimulation>) => {
  try {
    const db = openForReading(folder)
    try {
      const reads = createSimulationReads(db, { until: input.now })
      post({ simulation: await simulate(reads, input, { most, onProgress: (progress) => post({ progress }) }) })
    } finally {
      db.close()
    }
  } catch (error) {
    post({ failure: error instanceof Error ? error.message : String(error) })
  }
}
