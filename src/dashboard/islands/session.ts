/// <reference lib="dom" />
import { pageAbove } from '../layout/paths.ts'

/** Between the tabs of one browser. */
const channel = new BroadcastChannel('eventpost-session')
/** How long a tab waits for the sign-out of another one to reach the server. */
const SIGN_OUT_MS = 1_000

const signOut = document.querySelector<HTMLFormElement>('form[action="/sign-out"]')
if (signOut) watchSession(signOut)
// the sign-in page shows that the session may have ended: other tabs ask
else if (document.querySelector('form[action="/sign-in"]')) channel.postMessage('ask')

/** Leaves nothing on the screen once the session has ended, here or in another tab. */
function watchSession(form: HTMLFormElement): void {
  form.addEventListener('submit', () => channel.postMessage('signed-out'))
  channel.addEventListener('message', ({ data }: MessageEvent<string>) => {
    if (data === 'signed-out') {
      document.body.replaceChildren()
      setTimeout(leave, SIGN_OUT_MS)
    } else void leaveIfSignedOut()
  })
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void leaveIfSignedOut()
  })
  window.addEventListener('pageshow', async ({ persisted }) => {
    if (!persisted) return
    document.body.hidden = true
    await leaveIfSignedOut()
    document.body.hidden = false
  })
}

/** Leads to the sign-in page, and from there back. Reloading the answer to a form would send that form again. */
const leave = (): void =>
  document.documentElement.dataset.form === 'sent' ? location.replace(pageAbove(location.pathname)) : location.reload()

async function leaveIfSignedOut(): Promise<void> {
  const response = await fetch('/session', { method: 'HEAD' }).catch(() => null)
  if (response?.status === 401 && !isTyped()) leave()
}

const isTyped = (): boolean =>
  [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('main input, main textarea')].some((field) =>
    field.type === 'checkbox' || field.type === 'radio'
      ? (field as HTMLInputElement).checked !== (field as HTMLInputElement).defaultChecked
      : field.type !== 'hidden' && field.value !== field.defaultValue,
  )
