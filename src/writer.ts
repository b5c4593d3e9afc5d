import { serveWrites } from './store/engine/writer-thread.ts'
import { STORE_RULES } from './deliveries/deliveries.ts'
import { readEventText } from './events/event-input.ts'

serveWrites({ readEvent: readEventText, rules: STORE_RULES })
