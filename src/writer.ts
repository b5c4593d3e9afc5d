/** The thread that writes: the store's, with what reads the events that reach it as texts, and the rules for sending. */
import { serveWrites } from './store/engine/writer-thread.ts'
import { DELIVERY_RULES } from './deliveries/deliveries.ts'
import { readEventText } from './events/event-texts.ts'

serveWrites({ readEvent: readEventText, rules: DELIVERY_RULES })
