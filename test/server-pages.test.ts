import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { openPages } from '../src/server.ts'

const PERSON = { headers: { Accept: 'text/html' } }
const router = () => ({
  app: new Elysia().get('/a', () => 'a page'),
  findRoute: (path: string) => path,
  refusalPage: async () => new Response(null, { status: 404 }),
})

test('pages are loaded once, at the first request', async () => {
  let built = 0
  const pages = openPages(() => {
    built += 1
    return router()
  })
  expect([built, pages.findRoute('/a')]).toEqual([0, null])
  expect(await pages.refuse(new Request('http://post.example.com/a'), 'not_found')).toBe(null)
  expect(await pages.refuse(new Request('http://post.example.com/api/v1/a', PERSON), 'not_found')).toBe(null)
  expect(built).toBe(0)
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => pages.answer(new Request('http://post.example.com/a'))),
  )
  expect(await Promise.all(answers.map((one) => one.text()))).toEqual(Array(5).fill('a page'))
  expect([built, pages.findRoute('/a')]).toEqual([1, '/a'])
})

test('a failed load is tried again', async () => {
  let isBroken = true
  const pages = openPages(() => {
    if (isBroken) throw new Error('no such file')
    return router()
  })
  await expect(pages.answer(new Request('http://post.example.com/a'))).rejects.toThrow('no such file')
  await expect(pages.refuse(new Request('http://post.example.com/a', PERSON), 'not_found')).rejects.toThrow(
    'no such file',
  )
  isBroken = false
  expect(await (await pages.answer(new Request('http://post.example.com/a'))).text()).toBe('a page')
})
