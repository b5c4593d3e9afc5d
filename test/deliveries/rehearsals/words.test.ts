import { expect, test } from 'bun:test'
import { sayRehearsal } from '../../../src/deliveries/rehearsals/words.ts'

test('says always what is never looked at, and what was not this time', () => {
  const always = sayRehearsal({ estimated: 0, untried: 0 })
  expect(always).toEqual([
    expect.stringContaining('as they are today, also for past events'),
    expect.stringContaining('a day or a week is not looked at'),
  ])
  expect(sayRehearsal({ estimated: 1, untried: 0 })).toEqual([
    expect.stringContaining('48 hours. One of these is older, and was judged by page views alone'),
    ...always,
  ])
  expect(sayRehearsal({ estimated: 12_345, untried: 6_789 })).toEqual([
    expect.stringContaining('48 hours. 12,345 of these are older, and were judged by page views alone'),
    expect.stringContaining('not for 6,789'),
    ...always,
  ])
})
