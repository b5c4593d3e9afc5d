import { expect, test } from 'bun:test'
import { watchWrites } from '../../src/store/open.ts'
import { useFolder } from './databases.ts'

const folder = useFolder()

test('writes of other connections are noticed once', () => {
  const db = folder.open()
  const watch = watchWrites(folder.path())
  expect(watch.hasWrites()).toBe(false)
  db.run("INSERT INTO install (name, value) VALUES ('watched', '1')")
  expect([watch.hasWrites(), watch.hasWrites()]).toEqual([true, false])
  watch.close()
})
