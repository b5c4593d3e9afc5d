import { codeAt } from '../dashboard/access/authenticator.ts'
import { textOf } from '../dashboard/pages.ts'

type SignInForm = { email: string; password: string }

/** Doesn't follow redirects. */
export const postForm = (url: string, path: string, fields: Record<string, string>, cookie = ''): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'Sec-Fetch-Site': 'same-origin', cookie },
    body: new URLSearchParams(fields),
    redirect: 'manual',
  })

export const cookieOf = (response: Response): string => response.headers.getSetCookie()[0]?.split(';')[0] ?? ''

/** The page's address has no token. */
export async function openLink(url: string): Promise<Response> {
  const first = await fetch(url, { redirect: 'manual' })
  const next = new URL(first.headers.get('location') ?? '', url)
  return fetch(next, { headers: { cookie: cookieOf(first) }, redirect: 'manual' })
}

/** Returns the page with the recovery codes. */
export async function turnOnTwoStep(url: string, form: SignInForm): Promise<Response> {
  const cookie = cookieOf(await postForm(url, '/sign-in', form))
  const home = await fetch(url, { headers: { cookie }, redirect: 'manual' })
  const path = home.headers.get('location')?.replace(/(activation|overview)$/, 'you/two-step') ?? ''
  const begun = await postForm(url, path, { confirmPassword: form.password }, cookie)
  const html = await begun.text()
  const secret = (await textOf(html, '#two-step-key')).join('').replaceAll(' ', '')
  return postForm(url, `${path}/on`, { code: codeAt(secret, Date.now()) }, cookieOf(begun))
}
