/// <reference lib="dom" />
import { pageAbove } from '../layout/forms.ts'

/** Shared by the tabs of a browser. */
const channel = new BroadcastChannel('eventpost-session')
/** Time for another tab's sign-out to reach the server. */
const SIGN_OUT_MS = 1_000

const signOut = document.querySelector<HTMLFormElement>('form[action="/sign-out"]')
if (signOut) watchSession(signOut)
// the sign-in page may mean that the session ended: other tabs check
else if (document.querySelector('form[action="/sign-in"]')) channel.postMessage('ask')

/** Clears the page when the session ends, here or in another tab. */
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

/** Navigates instead of reloading, because reloading would resubmit a form. */
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
