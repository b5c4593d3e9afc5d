import { type Static, Type } from '@sinclair/typebox'
import * as fields from '../core/field-schemas.ts'
import { readPublicId } from '../core/ids.ts'
import { type Body, createReader, faultOf, type Reading, type Rules, warnOfUnknown } from '../core/inputs.ts'

const DELIVERY = Type.String({
  description: 'The `id` of the delivery, `dlv_...`.',
  say: 'Send the `id` of a delivery, `dlv_...`, from GET /deliveries.',
})

/** POST /deliveries/cancel and /deliveries/send-now. */
export const DeliveryChange = Type.Object(
  { app: fields.APP, newsletter: fields.NEWSLETTER, delivery: DELIVERY },
  { title: 'DeliveryChange', description: 'The waiting email.', ...fields.EITHER_APP_NAME },
)

export type DeliveryChangeFields = { app: string; id: number }

const FIELD_NAMES = new Set(Object.keys(DeliveryChange.properties))

const RULES: Rules = {
  ...fields.appRules(DeliveryChange),
  delivery: (text) =>
    typeof text === 'string' && readPublicId('dlv', text) === null ? faultOf(DELIVERY, 'invalid', text) : null,
}

function clean(sent: Static<typeof DeliveryChange>): DeliveryChangeFields | null {
  const [app, id] = [fields.findAppId(sent), readPublicId('dlv', sent.delivery)]
  return app === null || id === null ? null : { app, id }
}

const read = createReader({ schema: DeliveryChange, clean, rules: () => RULES })

export function readDeliveryChange(body: Body): Reading<DeliveryChangeFields> {
  const reading = read(body, null)
  return 'errors' in reading ? reading : { input: reading.input, warnings: warnOfUnknown(body, FIELD_NAMES) }
}
