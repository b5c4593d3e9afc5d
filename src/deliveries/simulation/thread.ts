import { messageOf } from '../../core/error-text.ts'
import type { DataLocation } from '../../core/data-location.ts'
import { createRests, yieldToServer } from '../../core/priority.ts'
import { openForReadingAt, watchWrites } from '../../store/open.ts'
import { createSimulationReads } from '../../store/simulation.ts'
import { type Progress, simulate, type Simulation, type SimulationInput } from './simulate.ts'

declare const self: Worker

export type ToSimulation = { location: DataLocation; input: SimulationInput; most: number }
export type FromSimulation = { progress: Progress } | { simulation: Simulation } | { failure: string }

const post = (message: FromSimulation): void => self.postMessage(message)

yieldToServer('some')

self.onmessage = async ({ data: { location, input, most } }: MessageEvent<ToSimulation>) => {
  try {
    const { sql, close } = openForReadingAt(location)
    const watch = 'folder' in location ? watchWrites(location.folder) : null
    try {
      const reads = createSimulationReads(sql, { until: input.now })
      // PostgreSQL makes it wait for each answer
      const rest = watch ? createRests(watch.hasWrites) : undefined
      const onProgress = (progress: Progress): void => post({ progress })
      post({ simulation: await simulate(reads, input, { most, onProgress, rest }) })
    } finally {
      watch?.close()
      await close()
    }
  } catch (error) {
    post({ failure: messageOf(error) })
  }
}
