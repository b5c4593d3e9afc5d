import { readConfig, readSecret, UsageError } from '../config.ts'
import { lockFolder } from '../store/engine/folder-lock.ts'
import { changeMasterKey } from '../store/engine/sealed-columns.ts'
import { createSealer } from '../store/engine/sealing.ts'
import { hasDatabase } from '../store/engine/database.ts'
import { type Command, CommandRefused, DATA, JSON_OUTPUT, required } from './command.ts'

export const masterKeyChange: Command = {
  name: 'master-key change',
  summary: 'encrypts the secrets in the database with a new master key; stop the server first',
  options: {
    ...DATA,
    ...JSON_OUTPUT,
    'new-key-file': {
      type: 'string',
      value: 'FILE',
      meaning: 'File whose first line is the new key. EVENTPOST_MASTER_KEY is the current key.',
      isRequired: true,
    },
  },
  run: async (given, env) => {
    const { EVENTPOST_DATA, EVENTPOST_MASTER_KEY, EVENTPOST_MASTER_KEY_FILE } = env
    const key = { EVENTPOST_MASTER_KEY, EVENTPOST_MASTER_KEY_FILE }
    const { data, masterKey } = readConfig({ data: given.text('data') }, { EVENTPOST_DATA, ...key })
    if (masterKey === null)
      throw new UsageError('No master key is set. Start the server with EVENTPOST_MASTER_KEY to encrypt the secrets.')
    const newKey = readSecret('--new-key-file', required(given, 'new-key-file'))
    readConfig({}, { EVENTPOST_MASTER_KEY: newKey })
    if (!hasDatabase(data)) throw new CommandRefused(`There is no database in ${data}.`)
    const lock = lockFolder(data)
    try {
      const sealed = changeMasterKey(data, createSealer(masterKey), createSealer(newKey))
      return { sealed, next: 'Start the server with the new key as EVENTPOST_MASTER_KEY.' }
    } finally {
      lock.release()
    }
  },
}
