/** A member with two-step sign-in, and browsers between the two steps. */
import { afterEach, beforeEach, expect } from 'bun:test'
import { codeAt, STEP_MS, turnOn } from './authenticator.ts'
import { type AccountPages, type Browser, createBrowser, openAccount } from '../browser.ts'

type SecondStep = {
  pages: AccountPages
  secret: string
  codes: string[]
  now(steps?: number): string
  send(browser: Browser, code: string, next?: string): ReturnType<Browser['post']>
  isIn(browser: Browser): Promise<boolean>
  asked(options?: Parameters<typeof createBrowser>[1]): Promise<Browser>
}

/** `codes` are Ada's recovery codes. */
export function useSecondStep() {
  const step = {
    /** The code now, or that many 30-second steps later. */
    now: (steps = 0): string => codeAt(step.secret, step.pages.clock.ms + steps * STEP_MS),
    send: (browser: Browser, code: string, next = '/') => browser.post('/sign-in/code', { code, next }),
    isIn: async (browser: Browser): Promise<boolean> => (await browser.get(step.pages.at('you'))).status === 200,
    /** A browser after a correct password. */
    async asked(options: Parameters<typeof createBrowser>[1] = {}): Promise<Browser> {
      const browser = createBrowser(step.pages, options)
      const { status, location } = await browser.signIn('ada@example.com')
      expect([status, location]).toEqual([303, '/sign-in/code?next=%2F'])
      return browser
    },
  } as SecondStep
  beforeEach(async () => {
    step.pages = await openAccount()
    Object.assign(step, await turnOn(step.pages, await step.pages.signedIn()))
  })
  afterEach(() => step.pages.close())
  return step
}
