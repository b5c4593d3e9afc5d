import { beforeEach } from 'bun:test'
import { type TestServer, useSharedServer } from '../../helper.ts'
import { type Called, type Managed, openManaged } from '../client.ts'

export const MESSAGE = {
  name: 'Hello',
  trigger: { event: 'signed_up' },
  mail: { subject: 'Hello', body: 'Hello\n\nand welcome' },
}

/** `server` and `known` are those of the running test. */
export function useManaged() {
  const openServer = useSharedServer()
  let server: TestServer
  let known: Managed
  beforeEach(async () => {
    server = await openServer()
    known = await openManaged(server)
  })

  const call = (name: string, args?: object): Promise<Called> => known.call(name, args)
  return {
    server: () => server,
    known: () => known,
    call,
    /** `changes` to MESSAGE; a `messageId` is read first. */
    save: async (changes: object = {}, { messageId }: { messageId?: unknown } = {}): Promise<Called> => {
      const message = { ...MESSAGE, ...changes }
      if (messageId === undefined) return call('save_message_draft', { message })
      const basedOn = (await call('get_message', { messageId })).data.updatedAt
      return call('save_message_draft', { messageId, basedOn, message })
    },
  }
}
