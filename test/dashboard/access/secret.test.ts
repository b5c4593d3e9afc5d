import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createApp, rotateIdentitySecret } from '../../../src/accounts/accounts.ts'
import { signEmail, verifyIdentity } from '../../../src/accounts/identity.ts'
import { type AccountPages, type Browser, openAccount } from '../browser.ts'
import { attributesOf, DAY, textOf } from '../pages.ts'

const MINUTE = 60_000

let pages: AccountPages
let owner: Browser
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
})
afterEach(() => pages.close())

const keys = () => pages.at('keys')

describe('the identity secret', () => {
  const secretPath = () => `${keys()}/secret`
  const currentId = async () =>
    (await attributesOf((await owner.get(keys())).html, '[name=replaces]', 'value'))[0] ?? ''
  const isAccepted = async (secret: string) => {
    const now = pages.clock.now()
    const secrets = await pages.store.listSecrets(pages.begun.accountId, now - DAY)
    return verifyIdentity({ email: 'a@b.example', signature: signEmail('a@b.example', secret), secrets, now }).ok
  }

  test('after a rotation, the previous secret works for exactly 24 hours', async () => {
    const replaces = await currentId()
    const { status, html } = await owner.post(secretPath(), { replaces })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your new identity secret']])
    const [secret = ''] = await textOf(html, 'dd code')
    expect(await textOf(html, '.lead')).toEqual(['The previous one keeps working until 4 May 2026, 12:00 UTC.'])
    expect([await isAccepted(secret), await isAccepted(pages.begun.identitySecret)]).toEqual([true, true])
    const list = (await owner.get(keys())).html
    expect(await textOf(list, 'section dd')).toEqual([
      'Created just now',
      'Works until 4 May 2026, 12:00 UTC (in 24 hours)',
      'Not used since the rotation.',
    ])
    expect(list).not.toContain(secret)
    pages.clock.ms += DAY - 1
    expect(await isAccepted(pages.begun.identitySecret)).toBe(true)
    pages.clock.ms += 1
    expect([await isAccepted(secret), await isAccepted(pages.begun.identitySecret)]).toEqual([true, false])
  })

  test('counts signatures of the previous secret since its rotation, of all apps', async () => {
    const browser = await pages.signedIn()
    const used = async () => {
      const { html } = await browser.get(pages.at('keys'))
      return (await textOf(html, '.values dd')).filter((text) => text.includes('since the rotation'))
    }
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    const [app] = await pages.store.listApps(pages.begun.accountId)
    expect(await used()).toEqual([])
    await rotateIdentitySecret(maker, pages.begun.accountId)
    expect(await used()).toEqual(['Not used since the rotation.'])
    await createApp(maker, pages.begun.accountId, { name: 'Second', domains: [], home: null })
    const second = (await pages.store.listApps(pages.begun.accountId))[1]
    pages.notes.add(app?.id ?? 0, 'old_secret', { origin: 'https://app.example.com' })
    await pages.notes.save()
    pages.notes.add(second?.id ?? 0, 'old_secret', { origin: 'https://second.example' })
    expect(await used()).toEqual(['2 signatures since the rotation, the last just now from https://second.example.'])
    await pages.notes.save()
    await rotateIdentitySecret(maker, pages.begun.accountId)
    expect(await used()).toEqual(['Not used since the rotation.'])
  })

  test('a form submitted twice rotates once', async () => {
    const replaces = await currentId()
    await owner.post(secretPath(), { replaces })
    expect((await owner.post(secretPath(), { replaces })).status).toBe(409)
    expect((await owner.post(secretPath())).status).toBe(409)
    expect(await pages.store.listSecrets(pages.begun.accountId, 0)).toHaveLength(2)
  })

  test('asks for the password', async () => {
    pages.clock.ms += 10 * MINUTE
    const { html } = await owner.post(secretPath(), { replaces: await currentId() })
    expect(await textOf(html, 'h1')).toEqual(['Confirm your password'])
    expect(await pages.store.listSecrets(pages.begun.accountId, 0)).toHaveLength(1)
  })

  test('the previous secret can be revoked at once', async () => {
    await owner.post(secretPath(), { replaces: await currentId() })
    const { status, location } = await owner.post(`${secretPath()}/revoke`)
    expect([status, location, await isAccepted(pages.begun.identitySecret)]).toEqual([303, keys(), false])
    const { html } = await owner.get(keys())
    expect(await textOf(html, 'section dt')).toEqual(['Current'])
    expect((await textOf(html, '[role=status]'))[0]).toContain('All previous identity secrets were revoked.')
  })

  test('after two rotations in 24 hours both earlier secrets work, and are revoked together', async () => {
    const dialog = async () => {
      const { html } = await owner.get(keys())
      const [opener] = await textOf(html, '[popovertarget=revoke-previous]')
      const parts = ['h2', 'p', '.danger'].map((part) => textOf(html, `#revoke-previous ${part}`))
      return [opener, ...(await Promise.all(parts)).flat()]
    }
    const first = pages.begun.identitySecret
    const rotated = await owner.post(secretPath(), { replaces: await currentId() })
    const [second = ''] = await textOf(rotated.html, 'dd code')
    expect(await dialog()).toEqual([
      'Revoke the previous secret',
      'Revoke the previous identity secret?',
      'Signatures made with it will be refused. Do this if it leaked, or once every server has the new one.',
      'Revoke it now',
    ])
    pages.clock.ms += MINUTE
    await owner.post(secretPath(), { replaces: await currentId() })
    expect(await dialog()).toEqual([
      'Revoke all previous secrets',
      'Revoke all previous identity secrets?',
      'Signatures made with them will be refused. Do this if one leaked, or once every server has the new one.',
      'Revoke them now',
    ])
    expect([await isAccepted(first), await isAccepted(second)]).toEqual([true, true])
    await owner.post(`${secretPath()}/revoke`)
    expect([await isAccepted(first), await isAccepted(second)]).toEqual([false, false])
  })
})
