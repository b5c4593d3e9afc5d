/** Where a person is, as a function of what was reported. */
import { describe, expect, test } from 'bun:test'
import type { ReportRow } from '../../src/store/visit-reports.ts'
import { comparePaths, lastReportUntil, PRESENCE_MS, presenceAt, toLostReport } from '../../src/visits/presence.ts'
import { HOUR, MINUTE, NOW } from '../durations.ts'

const report = (changes: Partial<ReportRow> = {}): ReportRow => {
  const reportedAt = changes.reportedAt ?? NOW - MINUTE
  return {
    pageLoad: 1,
    reportNumber: null,
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

test('without reports, the person is nowhere', () => {
  expect(presenceAt([], NOW)).toEqual({ isHere: false, paths: [], pages: [], lastReportAt: null, lastLeftAt: null })
})

describe('an open page', () => {
  test('counts from its report until it is silent for too long', () => {
    const one = report({ reportedAt: NOW })
    expect(pathsOf([one], NOW - 1)).toEqual([])
    expect(pathsOf([one], NOW)).toEqual(['/a'])
    expect(pathsOf([one], NOW + PRESENCE_MS - 1)).toEqual(['/a'])
    expect(pathsOf([one], NOW + PRESENCE_MS)).toEqual([])
    expect(presenceAt([one], NOW + 2 * MINUTE, 3 * MINUTE).isHere).toBe(true)
    expect(presenceAt([one], NOW + 3 * MINUTE, 3 * MINUTE).isHere).toBe(false)
  })
  test('is listed with all others, newest first, each path once', () => {
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
  test('is known until its last report, of any kind', () => {
    const later = report({ isHere: null, reportedAt: NOW + HOUR, receivedAt: NOW + HOUR })
    const other = report({ pageLoad: 2, reportedAt: NOW + 2 * HOUR })
    expect(presenceAt([report(), later, other], NOW).pages).toEqual([{ path: '/a', heardAt: NOW + HOUR }])
    expect(presenceAt([later, report()], NOW).pages).toEqual([{ path: '/a', heardAt: NOW + HOUR }])
  })
  test('is not reported by an action', () => {
    expect(presenceAt([report({ isHere: null })], NOW)).toMatchObject({ isHere: false, lastReportAt: null })
  })
})

describe('of one page load, what counts is', () => {
  test('its last report', () => {
    const [opened, left] = [report({ reportedAt: NOW - 5 }), leave({ reportedAt: NOW - 2 })]
    expect(bothWays(opened, left)).toEqual([[], []])
    expect(bothWays(report({ reportedAt: NOW - 1 }), left)).toEqual([['/a'], ['/a']])
  })
  test('the highest batch number, whatever the times', () => {
    const first = report({ reportNumber: 1, reportedAt: NOW - 1 })
    const second = leave({ reportNumber: 2, reportedAt: NOW - 5 })
    expect(bothWays(first, second)).toEqual([[], []])
  })
  test('the time, if the numbers are equal or absent', () => {
    const left = leave({ reportNumber: 2, reportedAt: NOW - 5 })
    expect(bothWays(report({ reportNumber: 2, reportedAt: NOW - 6 }), left)).toEqual([[], []])
    expect(bothWays(report({ reportNumber: null, reportedAt: NOW - 4 }), left)).toEqual([['/a'], ['/a']])
    expect(bothWays(report({ reportNumber: 3, reportedAt: NOW - 4 }), { ...left, reportNumber: null })).toEqual([
      ['/a'],
      ['/a'],
    ])
  })
  test('being present, within the same millisecond', () => {
    const receivedLater = leave({ receivedAt: NOW, path: '/z' })
    expect(bothWays(report(), receivedLater)).toEqual([['/a'], ['/a']])
  })
  test('the last to arrive, then the greater path', () => {
    expect(bothWays(report({ receivedAt: NOW }), report({ path: '/b', receivedAt: NOW - 1 }))).toEqual([['/a'], ['/a']])
    expect(bothWays(report({ path: '/b' }), report())).toEqual([['/b'], ['/b']])
  })
  test('nothing of another tab: one open tab means present', () => {
    expect(pathsOf([report(), leave({ pageLoad: 2, reportedAt: NOW })])).toEqual(['/a'])
  })
})

test('returns the times of the last report and the last leave', () => {
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

test('a view without a later report counts as an open page load', () => {
  const lost = toLostReport({ path: '/lost', occurredAt: NOW })
  expect(presenceAt([lost], NOW)).toMatchObject({
    isHere: true,
    pages: [{ path: '/lost', heardAt: Number.POSITIVE_INFINITY }],
  })
  expect(lost.isReturn).toBe(false)
})

test('paths are ordered', () => {
  expect([comparePaths('/a', '/b'), comparePaths('/b', '/a'), comparePaths('/a', '/a')]).toEqual([-1, 1, 0])
})
