import { expect, test } from 'bun:test'
import { type ChosenTopic, mayResume, readChoice } from '../../src/people/topics.ts'

const topic = (name: string, end: ChosenTopic['end']): ChosenTopic => ({
  id: 1,
  name,
  description: null,
  end,
})
const ended = { topic: 'x', endedAt: 1, actor: null }

test('people take back what they chose themselves, and members anything', () => {
  expect(mayResume({ actor: null }, null)).toBe(true)
  expect(mayResume({ actor: 'mem_1' }, null)).toBe(false)
  expect(mayResume({ actor: 'mem_1' }, 'mem_2')).toBe(true)
})

test('a form changes only what differs', () => {
  const topics = [topic('a', null), topic('b', null), topic('c', ended), topic('d', ended)]
  expect(readChoice(topics, ({ name }) => name === 'a' || name === 'c')).toEqual({ end: ['b'], resume: ['c'] })
})
