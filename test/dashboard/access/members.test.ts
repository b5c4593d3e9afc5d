import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const EVE = 'eve@example.com'
const members = () => pages.store.listMembers(pages.begun.accountId)
const idOf = async (email: string) => (await members()).find((member) => member.email === email)?.id ?? ''
const post = async (form: string, fields: Record<string, string>, who?: string) =>
  (await pages.signedIn(who)).post(`${pages.at('members')}${form}`, fields)
const rows = async (who?: string) => {
  const { html } = await (await pages.signedIn(who)).get(pages.at('members'))
  return textOf(html, 'tbody tr')
}

describe('inviting', () => {
  test('shows a link once, with which they choose a password and sign in', async () => {
    const { status, html } = await post('', { email: ' Eve@Example.com ', role: 'viewer' })
    expect([status, await textOf(html, '.lead')]).toEqual([200, [`Send it only to ${EVE}.`]])
    const [link = ''] = await textOf(html, '.secret #link')
    expect(link).toMatch(/^http:\/\/localhost:8080\/password\?token=\w{43}$/)
    expect(await rows()).toEqual([
      'ada@example.com YouOwnerActivejust nowChange ada@example.com',
      `${EVE} ViewerInvitedjust nowChange ${EVE}`,
    ])
    const browser = createBrowser(pages)
    const token = new URL(link).searchParams.get('token') ?? ''
    await browser.post('/password', { token, password: 'four dull wooden spoons' })
    expect((await browser.signIn(EVE, 'four dull wooden spoons')).status).toBe(303)
    expect((await rows())[1]).toContain('Active')
  })

  test.each([
    [{ email: 'nobody', role: 'viewer' }, 400, '#email-fault', 'Enter one email address'],
    [{ email: 'zoë@example.com', role: 'viewer' }, 400, '#email-fault', 'Use only ASCII characters before the @'],
    [
      { email: 'ada@example.com', role: 'viewer' },
      409,
      '#email-fault',
      'A member of this account already has this email',
    ],
    [{ email: EVE, role: 'king' }, 400, '.fault', 'Choose a role.'],
  ])('refuses %p and keeps the input', async (fields, status, fault, sentence) => {
    const seen = await post('', fields)
    expect([seen.status, await textOf(seen.html, fault)]).toEqual([status, [expect.stringContaining(sentence)]])
    expect(await attributesOf(seen.html, '#email', 'value')).toEqual([fields.email])
    expect(await members()).toHaveLength(1)
  })

  test('a member of another account is invited like anyone, and stays out until they accept', async () => {
    const other = await pages.addAccount('zoe@example.com', 'Other')
    const [known, unknown] = await Promise.all(
      ['zoe@example.com', EVE].map(async (email) => {
        const { status, html } = await post('', { email, role: 'viewer' })
        return [status, html.replaceAll(email, 'EMAIL').replaceAll(/token=\w{43}/g, 'TOKEN')]
      }),
    )
    expect(known).toEqual(unknown)
    expect((await rows()).slice(1).toSorted()).toEqual([
      `${EVE} ViewerInvitedjust nowChange ${EVE}`,
      'zoe@example.com ViewerInvitedjust nowChange zoe@example.com',
    ])
    const pagesOf = await Promise.all(
      ['zoe@example.com', EVE].map(async (email) => {
        const id = await idOf(email)
        const { html } = await (await pages.signedIn()).get(`${pages.at('members')}/edit?member=${id}`)
        // a heading may break an address between its parts
        const whole = html.replaceAll(/<\/bdi><wbr ?\/?><bdi>/g, '')
        return whole.replaceAll(email, 'EMAIL').replaceAll(id, 'ID')
      }),
    )
    expect(pagesOf[0]).toBe(pagesOf[1] ?? '')
    const persons = (await members()).map(({ personId }) => personId)
    expect(persons).toContain((await pages.store.findMember('zoe@example.com'))?.id ?? '')
    const ada = await pages.signedIn()
    const shown = [(await ada.get(pages.at('members'))).html, ...pagesOf]
    for (const id of persons) expect(shown.filter((html) => html.includes(id))).toEqual([])
    const zoe = await pages.signedIn('zoe@example.com')
    expect((await zoe.get(pages.at('members'))).status).toBe(404)
    expect((await zoe.get('/')).location).toBe(`/apps/${other.appId}/activation`)
  })

  test('replaces a lost link', async () => {
    const linkOf = async (html: string) =>
      (await textOf(html, '.secret #link'))[0]?.replace('http://localhost:8080', '') ?? ''
    const first = await linkOf((await post('', { email: EVE, role: 'viewer' })).html)
    const member = await idOf(EVE)
    const shown = await (await pages.signedIn()).get(`${pages.at('members')}/edit?member=${member}`)
    expect([await textOf(shown.html, '.lead'), await textOf(shown.html, 'h2')]).toEqual([
      ["Invited as a viewer of the account Engine, but hasn't joined yet."],
      ['Role', 'Invitation', 'Remove', expect.stringContaining('Remove')],
    ])
    const second = await linkOf((await post('/link', { member })).html)
    const open = async (link: string) => (await createBrowser(pages).openLink(link)).status
    expect([await open(first), await open(second)]).toEqual([404, 200])
    expect((await post('/remove', { member })).status).toBe(303)
    expect(await open(second)).toBe(404)
  })

  test('again makes another link, with the new role', async () => {
    const linkOf = async (html: string) =>
      (await textOf(html, '.secret #link'))[0]?.replace('http://localhost:8080', '')
    const first = (await linkOf((await post('', { email: EVE, role: 'viewer' })).html)) ?? ''
    const second = (await linkOf((await post('', { email: EVE, role: 'editor' })).html)) ?? ''
    const open = async (link: string) => (await createBrowser(pages).openLink(link)).status
    expect([await open(first), await open(second)]).toEqual([404, 200])
    expect((await rows())[1]).toBe(`${EVE} EditorInvitedjust nowChange ${EVE}`)
  })

  test('asks for the password after 10 minutes', async () => {
    const browser = await pages.signedIn()
    pages.clock.ms += 10 * 60_000
    const fields = { email: EVE, role: 'owner' }
    const asked = await browser.post(pages.at('members'), fields)
    expect(await textOf(asked.html, 'h1')).toEqual(['Confirm your password'])
    expect(await members()).toHaveLength(1)
    const made = await browser.post(pages.at('members'), { ...fields, confirmPassword: PASSWORD })
    expect(await textOf(made.html, 'h1')).toEqual(['The link is ready'])
  })
})

test('a link that works only on this machine says so, and how to change that', async () => {
  const noticesAt = async (baseUrl?: string) => {
    await pages.close()
    pages = await openAccount({ baseUrl })
    const { html } = await (await pages.signedIn()).post(pages.at('members'), { email: EVE, role: 'editor' })
    return (await textOf(html, 'main')).join().includes('This link works only on this machine. Set the public address')
  }
  expect(await noticesAt()).toBe(true)
  expect(await noticesAt('https://post.example.com')).toBe(false)
})

describe('a member', () => {
  beforeEach(() => pages.addMember(EVE, 'editor'))

  test('is shown with their role', async () => {
    const browser = await pages.signedIn()
    const { html } = await browser.get(`${pages.at('members')}/edit?member=${await idOf(EVE)}`)
    expect([await textOf(html, 'h1'), await textOf(html, '.lead')]).toEqual([[EVE], ['Editor of the account Engine.']])
    expect(await attributesOf(html, '[type=radio][checked]', 'value')).toEqual(['editor'])
    await expectHarmless(html)
    for (const id of ['', 'mem_nobody']) {
      expect((await browser.get(`${pages.at('members')}/edit?member=${id}`)).status).toBe(404)
    }
  })

  test('gets another role, which applies on their next page', async () => {
    const eve = await pages.signedIn(EVE)
    expect((await eve.get(`${pages.at('members')}/new`)).status).toBe(403)
    const { status, location } = await post('/role', { member: await idOf(EVE), role: 'owner' })
    expect([status, location]).toEqual([303, pages.at('members')])
    expect((await eve.get(`${pages.at('members')}/new`)).status).toBe(200)
    expect((await post('/role', { member: await idOf(EVE), role: 'king' })).status).toBe(400)
  })

  test('gets a password link, and the old password works until it is used', async () => {
    const { html } = await post('/link', { member: await idOf(EVE) })
    expect(await textOf(html, '.secret #link')).toEqual([expect.stringMatching(/\/password\?token=\w{43}$/)])
    expect((await createBrowser(pages).signIn(EVE)).status).toBe(303)
  })

  test('gets no password link from an owner if they have other accounts', async () => {
    const member = await idOf(EVE)
    const lastSection = async () => {
      const { html } = await (await pages.signedIn()).get(`${pages.at('members')}/edit?member=${member}`)
      return [await attributesOf(html, `form[action$=link]`, 'method'), await textOf(html, 'section code')]
    }
    expect(await lastSection()).toEqual([['post'], []])
    await pages.addAccount('zoe@example.com', 'Other')
    expect(await lastSection()).toEqual([[], [`eventpost member reset-password --email ${EVE}`]])
    const { status, html } = await post('/link', { member })
    expect([status, await textOf(html, '[role=alert]')]).toEqual([
      409,
      [expect.stringContaining('only the operator can create a password link')],
    ])
    expect(html).not.toContain('token=')
  })

  test('is removed from this account only', async () => {
    const other = await pages.addAccount('zoe@example.com', 'Other')
    await pages.addMember(EVE, 'editor', other.accountId)
    const eve = await pages.signedIn(EVE)
    const { html } = await (await pages.signedIn()).get(`${pages.at('members')}/edit?member=${await idOf(EVE)}`)
    expect(await textOf(html, 'dialog p')).toEqual([
      'They can no longer open the account Engine. What they created stays.',
    ])
    expect((await post('/remove', { member: await idOf(EVE) })).status).toBe(303)
    expect((await eve.get(pages.at('activation'))).status).toBe(404)
    expect((await eve.get('/')).location).toBe(`/apps/${other.appId}/activation`)
    expect((await createBrowser(pages).signIn(EVE)).status).toBe(303)
  })

  test('is removed with all sessions', async () => {
    const eve = await pages.signedIn(EVE)
    expect((await post('/remove', { member: await idOf(EVE) })).status).toBe(303)
    expect((await eve.get(pages.at('activation'))).location).toContain('/sign-in')
    expect((await createBrowser(pages).signIn(EVE)).status).toBe(400)
    expect(await members()).toHaveLength(1)
  })

  test('the only owner cannot be changed', async () => {
    const member = await idOf('ada@example.com')
    for (const [form, fields] of [
      ['/role', { member, role: 'viewer' }],
      ['/remove', { member }],
    ] as const) {
      const { status, html } = await post(form, fields)
      expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
        409,
        expect.stringContaining('An account needs an owner'),
      ])
    }
    expect((await members())[0]?.role).toBe('owner')
  })

  test('the only owner is told to name another, and can then be changed', async () => {
    const owner = await pages.signedIn()
    const open = async () => {
      const { html } = await owner.get(`${pages.at('members')}/edit?member=${await idOf('ada@example.com')}`)
      const texts = await textOf(html, 'main section:first-of-type p')
      const links = await attributesOf(html, 'main section a', 'href')
      return { texts, links, actions: await attributesOf(html, 'main form', 'action') }
    }
    const forms = ['role', 'remove'].map((form) => `${pages.at('members')}/${form}`)
    const { texts, links, actions } = await open()
    expect(links).toEqual([pages.at('you')])
    expect(texts[0]).toStartWith("You're the only owner of the account.")
    expect(actions.filter((action) => forms.includes(action ?? ''))).toEqual([])
    await pages.addMember('second@example.com', 'owner')
    expect((await open()).actions).toEqual(expect.arrayContaining(forms))
  })

  test('of another account does not exist', async () => {
    await pages.addAccount('other@example.com', 'Other')
    const member = await idOf(EVE)
    const other = await pages.signedIn('other@example.com')
    const own = (await other.get('/')).location?.replace('activation', 'members') ?? ''
    expect((await other.get(`${own}/edit?member=${member}`)).status).toBe(404)
    for (const form of ['role', 'link', 'remove']) {
      expect((await other.post(`${own}/${form}`, { member, role: 'owner' })).status).toBe(404)
    }
    expect((await members())[1]).toMatchObject({ email: EVE, role: 'editor' })
  })
})

test.each(['editor', 'viewer'] as const)('%s sees the list and changes nobody', async (role) => {
  await pages.addMember(EVE, role)
  expect(await rows(EVE)).toEqual([
    'ada@example.com OwnerActivejust now',
    `${EVE} You${role === 'editor' ? 'Editor' : 'Viewer'}Activejust now`,
  ])
  const member = await idOf(EVE)
  for (const form of ['', '/role', '/link', '/remove']) {
    expect((await post(form, { member, role: 'owner', email: 'new@example.com' }, EVE)).status).toBe(403)
  }
  const browser = await pages.signedIn(EVE)
  expect((await browser.get(`${pages.at('members')}/edit?member=${member}`)).status).toBe(403)
  expect(await members()).toMatchObject([{ role: 'owner' }, { role }])
})
