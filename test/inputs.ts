/** What customers send, each declared beside its reader. */
export { AppQuery, ContactQuery, DeliveryQuery, EventQuery, PersonQuery } from '../src/http/queries.ts'
export { BatchInput, EventInput } from '../src/events/event-input.ts'
export { DeliveryInput } from '../src/deliveries/delivery-lists.ts'
export { SendInput } from '../src/deliveries/sends.ts'
export { BounceReport } from '../src/people/bounces.ts'
export { ContactErase, ContactInput, ContactUpdateInput } from '../src/people/contact-input.ts'
export { VisitReport } from '../src/visits/visit-reports.ts'
export { FailedEmails } from '../src/api/deliveries.ts'
export {
  ExplanationQuery,
  MessageSave,
  MessagesQuery,
  MessageStatusInput,
  MessageTestInput,
  PreviewQuery,
  SimulationQuery,
} from '../src/api/message-inputs.ts'
