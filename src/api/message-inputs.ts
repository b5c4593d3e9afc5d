/** What calls about messages send. The fields and their rules are those of MCP. */
import { type TObject, Type } from '@sinclair/typebox'
import * as fields from '../core/field-schemas.ts'
import { PREVIEW_FIELDS, PREVIEW_RULES } from '../deliveries/draft-previews.ts'
import { cleanTest, TEST_RULES, testFields } from '../deliveries/message-tests.ts'
import {
  createQuery,
  idCursorRule,
  PAGE,
  queryEmail,
  readIdCursor,
  readSimulated,
  SIMULATED,
  simulatedRules,
} from '../http/queries.ts'
import { DEFAULT_PAGE_ITEMS } from '../core/field-limits.ts'
import { type CallNames, cleanDraft, cleanStatus, draftFields, draftRules, statusFields } from '../messages/drafts.ts'
import { APP, createBody, ofBody } from './bodies.ts'

export const NAMES: CallNames = {
  list: 'GET /messages',
  get: 'GET /messages/ID',
  preview: 'GET /messages/ID/preview',
  docs: '/docs/messages',
}

const ofQuery = <P extends TObject['properties']>(properties: P) =>
  Type.Object({ ...APP, ...properties }, fields.EITHER_APP_NAME)

export const MessagesQuery = ofQuery(PAGE)

export const readMessagesQuery = createQuery(
  MessagesQuery,
  ({ cursor, limit = DEFAULT_PAGE_ITEMS }) => ({
    after: cursor === undefined ? 0 : (readIdCursor(cursor) ?? 0),
    limit,
  }),
  () => ({ cursor: idCursorRule }),
)

const PERSON = Type.Optional(queryEmail(PREVIEW_FIELDS.email.description))

export const PreviewQuery = ofQuery({ ...PREVIEW_FIELDS, email: PERSON })

export const readPreviewQuery = createQuery(
  PreviewQuery,
  ({ several = false, language = null }) => ({ isSeveral: several, language }),
  () => PREVIEW_RULES,
)

export const SimulationQuery = ofQuery({ email: Type.Optional(queryEmail('Only this person.')), ...SIMULATED })

export const readSimulationQuery = createQuery(SimulationQuery, readSimulated, simulatedRules)

export const ExplanationQuery = ofQuery({ email: queryEmail('The person.') })

export const readExplanationQuery = createQuery(ExplanationQuery, () => ({}))

const DRAFT = draftFields(NAMES)

/** POST /messages. */
export const MessageSave = ofBody(DRAFT, { title: 'MessageSave', description: 'A message to create or change.' })

export const readMessageSave = createBody(MessageSave, cleanDraft, draftRules(DRAFT))

/** POST /messages/status. */
export const MessageStatusInput = ofBody(statusFields(NAMES), {
  title: 'MessageStatusInput',
  description: 'A message, and its new status.',
})

export const readMessageStatus = createBody(MessageStatusInput, cleanStatus, {})

/** POST /messages/test. */
export const MessageTestInput = ofBody(testFields(NAMES), {
  title: 'MessageTestInput',
  description: 'A message, and who gets its test email.',
})

export const readMessageTest = createBody(MessageTestInput, cleanTest, { email: fields.emailRule, ...TEST_RULES })
