import { describe, expect, test } from 'bun:test'
import { createGroupDecoder, createGroupEncoder, MOST_SENDERS } from '../../../src/store/engine/writer-thread.ts'
import type { EventSender } from '../../../src/store/event-texts.ts'
import type { Job } from '../../../src/store/writes.ts'
import { AT, eventWrite, countedBy } from '../samples.ts'

const sender = (id: number): EventSender => ({
  apps: [{ id, accountId: 'acc_1', publicId: `app_${id}`, hosts: ['a.example'] }],
  newPeoplePerMonth: null,
  limits: countedBy(`events:key_${id}`),
})
const textJob = (text: string, from: EventSender, more: object = {}): Job => ({
  name: 'recordEventText',
  input: { text, sender: from, via: 'api', at: AT, ...more },
})
const encodeGroup = (jobs: Job[]): string => createGroupEncoder()(jobs)
const decodeGroup = (text: string): Job[] => createGroupDecoder()(text)
const idempotency = { keyId: 'key_1', key: 'a b', target: 'POST /events', at: AT }
const fieldsJob: Job = {
  name: 'recordEvent',
  input: eventWrite({ firstName: 'Zoë€😀', properties: '{"a":"\\"b\\n"}' }),
}

describe('a commit group as text', () => {
  const [one, other] = [sender(1), sender(2)]
  test.each<[string, Job[]]>([
    ['nothing', []],
    ['fields only', [fieldsJob, fieldsJob]],
    ['one text', [textJob('{"app":"app_1"}', one)]],
    ['texts and fields, in order', [textJob('a', one), fieldsJob, textJob('bb', other), textJob('', one)]],
    ['text that looks like a length or an end mark', [textJob(' 12 34', one), textJob('[0,1,2]', one)]],
    ['a text with an Idempotency-Key', [textJob('a', one, { idempotency }), textJob('b', one)]],
    ['a text of MCP', [textJob('a', one, { via: 'mcp' }), textJob('b', one)]],
    ['texts that are only read', [textJob('a', one, { refusal: 'rate_limited' }), textJob('b', one, { idempotency })]],
    ['every kind of character', ['é', '€', '😀', '\n\u0000\u2028', '"\\'].map((text) => textJob(text, one))],
  ])('%s', (_name, jobs) => expect(decodeGroup(encodeGroup(jobs))).toEqual(jobs))

  test('writes each sender once, and all their writes share it', () => {
    const text = encodeGroup(Array.from({ length: 50 }, () => textJob('{}', one)))
    expect(text.split('app_1')).toHaveLength(2)
    const read = decodeGroup(text) as Job<'recordEventText'>[]
    expect(read).toHaveLength(50)
    expect(new Set(read.map((job) => job.input.sender)).size).toBe(1)
  })

  test('does not repeat a sender that was sent, and starts over before there are too many', () => {
    const [write, read] = [createGroupEncoder(), createGroupDecoder()]
    const senders = Array.from({ length: MOST_SENDERS }, (_, id) => sender(id))
    const jobs = senders.map((from, index) => textJob(`${index}`, from))
    for (const half of [jobs.slice(0, 600), jobs.slice(400)]) expect(read(write(half))).toEqual(half)
    const again = [jobs[7] as Job, textJob('x', sender(-1))]
    const text = write(again)
    expect(text).toContain('app_7')
    expect(read(text)).toEqual(again)
    const last = write([jobs[7] as Job])
    expect(last).not.toContain('app_7')
    expect(read(last)).toEqual([jobs[7] as Job])
  })

  test('contains texts as they arrived, without escaping', () => {
    const text = '{"a":"\\"\\\\","b":1}'
    expect(encodeGroup([textJob(text, one)])).toEndWith(`}${text}`)
  })

  test('a job that is not JSON is passed on without its input, its neighbours unchanged', () => {
    const broken = { name: 'recordEvent', input: { ...eventWrite(), at: 1n } } as unknown as Job
    const around = [textJob('a', one), fieldsJob]
    expect(decodeGroup(encodeGroup([around[0] as Job, broken, around[1] as Job]))).toEqual([
      around[0] as Job,
      { name: 'recordEvent', input: null } as unknown as Job,
      around[1] as Job,
    ])
  })
})
