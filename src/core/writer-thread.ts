/** The thread that writes: the store's, with what reads the events that reach it as texts. */
import { serveWrites } from '../store/writer-thread.ts'
import { readEventText } from './event-texts.ts'

serveWrites(readEventText)
