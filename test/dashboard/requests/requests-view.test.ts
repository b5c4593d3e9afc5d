import { describe, expect, test } from 'bun:test'
import type { RequestFilter } from '../../../src/store/requests.ts'
import { readView, requestsPath, toFilter, writeView } from '../../../src/dashboard/requests/requests-view.ts'

const read = (text: string) => readView(new URLSearchParams(text))
const filter = (text: string, zone = 'UTC', appIds: RequestFilter['appIds'] = null) =>
  toFilter(read(text), { appIds, zone })

describe('the filters of an address', () => {
  test('are kept in the addresses of the page, refused ones first', () => {
    const text =
      'kind=all&code=invalid_field&field=events%5B2%5D.email&status=400&key=key_1&app=app_1&from=2026-05-03&to=2026-05-04'
    expect(writeView(read(text)).toString()).toBe(text)
    expect(read('')).toMatchObject({ kind: 'refused', code: '', status: '' })
    expect(requestsPath('app_1', { kind: 'refused' })).toBe('/apps/app_1/requests')
    expect(requestsPath('app_1', { code: 'not_found' }, { before: '7' })).toBe(
      '/apps/app_1/requests?code=not_found&before=7',
    )
  })

  test('are left out if they can match nothing that exists', () => {
    const text = 'kind=x&code=%3Cb%3E&status=abc&key=a%20b&app=%22&from=2026-13-99&to=yesterday'
    expect(writeView(read(text)).toString()).toBe('')
  })

  test('narrow by the days of the app’s timezone', () => {
    const days = 'from=2026-05-03&to=2026-05-04'
    expect(filter(days)).toMatchObject({ since: Date.UTC(2026, 4, 3), until: Date.UTC(2026, 4, 5) })
    const zurich = filter(days, 'Europe/Zurich')
    expect(zurich).toMatchObject({ since: Date.UTC(2026, 4, 2, 22), until: Date.UTC(2026, 4, 4, 22) })
    expect(filter('')).toMatchObject({ since: null, until: null, status: null, code: null, caller: null, appIds: null })
    expect(filter('key=no_key&status=401&field=%20email', 'UTC', [3])).toMatchObject({
      caller: 'no_key',
      status: 401,
      field: 'email',
      appIds: [3],
    })
  })
})
