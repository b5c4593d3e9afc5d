import { resolve } from 'node:path'
import { readMasterKey, readSecret, UsageError } from '../config.ts'
import type { DataLocation } from '../core/data-location.ts'
import { lockFolder } from '../store/engine/folder-lock.ts'
import { changeMasterKey, refuseSealed } from '../store/engine/sealed-columns.ts'
import { createSealer } from '../store/engine/sealing.ts'
import { describeDamage, hasDatabase } from '../store/engine/database.ts'
import { changeMasterKeyIn } from '../store/postgres/offline.ts'
import {
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  type Given,
  JSON_OUTPUT,
  locationOf,
  masterKeyOf,
  required,
} from './command.ts'

export const masterKeyChange: Command = {
  name: 'master-key change',
  summary: 'encrypts the secrets in the database with a new master key; stop the server first',
  options: {
    ...DATA,
    ...JSON_OUTPUT,
    'new-key-file': {
      type: 'string',
      value: 'FILE',
      meaning: 'File whose first line is the new key. Set EVENTPOST_MASTER_KEY to the current key.',
      isRequired: true,
    },
  },
  run: async (given, env) => {
    const { location, masterKey } = await readCurrent(given, env)
    const name = '--new-key-file'
    const newKey = readMasterKey({ text: readSecret(name, required(given, 'new-key-file')), name })
    const sealed = await changeAlone(location, masterKey, newKey)
    return { sealed, next: 'Start the server with the new key as EVENTPOST_MASTER_KEY.' }
  },
}

export const masterKeyRemove: Command = {
  name: 'master-key remove',
  summary: 'decrypts the secrets in the database; stop the server first',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    const { location, masterKey } = await readCurrent(given, env)
    return {
      decrypted: await changeAlone(location, masterKey, null),
      next: 'Start the server without EVENTPOST_MASTER_KEY.',
    }
  },
}

async function readCurrent(given: Given, env: Environment): Promise<{ location: DataLocation; masterKey: string }> {
  const [location, masterKey] = [locationOf(given, env), masterKeyOf(env)]
  if (masterKey === null) {
    if ('folder' in location && hasDatabase(location.folder)) await refuseSealed(location.folder)
    throw new UsageError('No master key is set. Start the server with EVENTPOST_MASTER_KEY to encrypt the secrets.')
  }
  return { location, masterKey }
}

/** @returns the number of values */
async function changeAlone(location: DataLocation, from: string, to: string | null): Promise<number> {
  if (!('folder' in location)) return await changeMasterKeyIn(location, from, to)
  const { folder: data } = location
  if (!hasDatabase(data)) throw new CommandRefused(`There is no database in ${resolve(data)}.`)
  const lock = lockFolder(data)
  try {
    return await changeMasterKey(data, createSealer(from), createSealer(to))
  } catch (error) {
    throw describeDamage(error, data)
  } finally {
    lock.release()
  }
}
