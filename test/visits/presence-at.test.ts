/** Where a person is, as a function of what was reported. */
import { describe, expect, test } from 'bun:test'
import type { ReportRow } from '../../src/store/visit-reports.ts'
import { comparePaths, lastReportUntil, PRESENCE_MS, presenceAt, toLostReport } from '../../src/visits/presence.ts'
import { HOUR, MINUTE, NOW } from '../durations.ts'

const report = (changes: Partial<ReportRow> = {}): ReportRow => {
  const reportedAt = changes.reportedAt ?? NOW - MINUTE
  return {
    pageLoad: 1,
    batchNumber: null,
    receivedAt: reportedAt,
    reportedAt,
    path: '/a',
    isHere: true,
    isReturn: false,
    ...changes,
  }
}
const leave = (changes: Partial<ReportRow> = {}) => report({ isHere: false, ...changes })
const pathsOf = (reports: ReportRow[], at = NOW) => presenceAt(reports, at).paths
/** In whatever order they are read. */
const bothWays = (one: ReportRow, other: ReportRow) => [pathsOf([one, other]), pathsOf([other, one])]

test('nothing reported is nowhere', () => {
  expect(presenceAt([], NOW)).toEqual({ isHere: false, paths: [], pages: [], lastReportAt: null, lastLeftAt: null })
})

describe('an open page', () => {
  test('counts from its report on, until it was silent for too long', () => {
    const one = report({ reportedAt: NOW })
    expect(pathsOf([one], NOW - 1)).toEqual([])
    expect(pathsOf([one], NOW)).toEqual(['/a'])
    expect(pathsOf([one], NOW + PRESENCE_MS - 1)).toEqual(['/a'])
    expect(pathsOf([one], NOW + PRESENCE_MS)).toEqual([])
    expect(presenceAt([one], NOW + 2 * MINUTE, 3 * MINUTE).isHere).toBe(true)
    expect(presenceAt([one], NOW + 3 * MINUTE, 3 * MINUTE).isHere).toBe(false)
  })
  test('is given with all others, the one opened last first, and each path once', () => {
    const reports = [
      report({ pageLoad: 1, path: '/old', reportedAt: NOW - 3 }),
      report({ pageLoad: 2, path: '/new', reportedAt: NOW - 1 }),
      report({ pageLoad: 3, path: '/old', reportedAt: NOW - 2 }),
    ]
    expect(pathsOf(reports)).toEqual(['/new', '/old'])
    expect(presenceAt(reports, NOW).pages).toEqual([
      { path: '/new', heardAt: NOW - 1 },
      { path: '/old', heardAt: NOW - 2 },
      { path: '/old', heardAt: NOW - 3 },
    ])
  })
  test('is heard of until its last word, also of what comes later or says nothing of presence', () => {
    const later = report({ isHere: null, reportedAt: NOW + HOUR, receivedAt: NOW + HOUR })
    const other = report({ pageLoad: 2, reportedAt: NOW + 2 * HOUR })
    expect(presenceAt([report(), later, other], NOW).pages).toEqual([{ path: '/a', heardAt: NOW + HOUR }])
    expect(presenceAt([later, report()], NOW).pages).toEqual([{ path: '/a', heardAt: NOW + HOUR }])
  })
  test('is not what an action says', () => {
    expect(presenceAt([report({ isHere: null })], NOW)).toMatchObject({ isHere: false, lastReportAt: null })
  })
})

describe('of one page load counts', () => {
  test('what it reported last', () => {
    const [opened, left] = [report({ reportedAt: NOW - 5 }), leave({ reportedAt: NOW - 2 })]
    expect(bothWays(opened, left)).toEqual([[], []])
    expect(bothWays(report({ reportedAt: NOW - 1 }), left)).toEqual([['/a'], ['/a']])
  })
  test('of numbered batches the highest number, whatever their times', () => {
    const first = report({ batchNumber: 1, reportedAt: NOW - 1 })
    const second = leave({ batchNumber: 2, reportedAt: NOW - 5 })
    expect(bothWays(first, second)).toEqual([[], []])
  })
  test('of the same or no number the time', () => {
    const left = leave({ batchNumber: 2, reportedAt: NOW - 5 })
    expect(bothWays(report({ batchNumber: 2, reportedAt: NOW - 6 }), left)).toEqual([[], []])
    expect(bothWays(report({ batchNumber: null, reportedAt: NOW - 4 }), left)).toEqual([['/a'], ['/a']])
    expect(bothWays(report({ batchNumber: 3, reportedAt: NOW - 4 }), { ...left, batchNumber: null })).toEqual([
      ['/a'],
      ['/a'],
    ])
  })
  test('in the same millisecond: here', () => {
    const receivedLater = leave({ receivedAt: NOW, path: '/z' })
    expect(bothWays(report(), receivedLater)).toEqual([['/a'], ['/a']])
  })
  test('of two the same what came last, then the greater path', () => {
    expect(bothWays(report({ receivedAt: NOW }), report({ path: '/b', receivedAt: NOW - 1 }))).toEqual([['/a'], ['/a']])
    expect(bothWays(report({ path: '/b' }), report())).toEqual([['/b'], ['/b']])
  })
  test('nothing of another: who is in one of two tabs is here', () => {
    expect(pathsOf([report(), leave({ pageLoad: 2, reportedAt: NOW })])).toEqual(['/a'])
  })
})

test('tells when anything, and when a leave, was reported last until then', () => {
  const reports = [
    report({ reportedAt: NOW - 3 }),
    leave({ reportedAt: NOW - 2 }),
    leave({ reportedAt: NOW - 4 }),
    report({ pageLoad: 2, reportedAt: NOW - 1 }),
    report({ isHere: null, reportedAt: NOW }),
    leave({ reportedAt: NOW + 1 }),
  ]
  expect(presenceAt(reports, NOW)).toMatchObject({ lastReportAt: NOW - 1, lastLeftAt: NOW - 2 })
  expect(lastReportUntil(reports, NOW)).toBe(NOW - 1)
  expect(lastReportUntil(reports, NOW - 2)).toBe(NOW - 2)
  expect(lastReportUntil(reports, NOW - 5)).toBe(0)
})

test('a view that no report follows is a page load that is still heard of', () => {
  const lost = toLostReport({ path: '/lost', occurredAt: NOW })
  expect(presenceAt([lost], NOW)).toMatchObject({
    isHere: true,
    pages: [{ path: '/lost', heardAt: Number.POSITIVE_INFINITY }],
  })
  expect(lost.isReturn).toBe(false)
})

test('paths have an order', () => {
  expect([comparePaths('/a', '/b'), comparePaths('/b', '/a'), comparePaths('/a', '/a')]).toEqual([-1, 1, 0])
})
