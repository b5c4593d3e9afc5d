/**
 * Renders members' templates in a thread that is stopped when it takes too long. Memory is bounded in templates.ts and
 * mail/markdown.ts.
 */
import { TEMPLATE_THREAD, takeWorker, type Thread } from '../store/engine/workers.ts'
import type { MailFacts, MailTemplate, RenderedMail } from './mailer.ts'
import { RENDER_MS } from './template-scope.ts'
import type { UsedProperty } from './templates.ts'
import type { TemplateFault } from './template-faults.ts'

export type Inspection = { problems: string[][]; properties: UsedProperty[] }

/** `part` null: about the whole email. `count`: of those tried. */
export type CountedFault = { part: Exclude<keyof MailTemplate, 'category'> | null; fault: TemplateFault; count: number }

export type TrialResult = { tried: number; faults: CountedFault[] }

type TemplateRequest =
  | { render: { template: MailTemplate; facts: MailFacts } }
  | { inspect: readonly string[] }
  | { layout: string }
  | { tryAll: { template: MailTemplate; samples: readonly MailFacts[] } }

export type ToTemplates = TemplateRequest & { budgetMs: number }
/** Text crosses threads cheaper than objects. */
export type FromTemplates = { answer: unknown } | { failure: string }

/** What the thread did not answer in time is asked once more, because the machine may have been busy. */
const BUSY_FACTOR = 8
/** For an email that ran out of time before. */
const ALONE_MS = 2_000
/** A busy machine takes its time; an error ends the wait earlier. */
const START_MS = 60_000
/** The thread checks the clock itself; stopping it is the fallback. */
const GRACE_MS = 50
/** Per app, besides emails being sent. */
const MAX_WAITING = 250
/** Emails being sent that cross threads together, because waking a thread takes as long as rendering. */
const TOGETHER = 8
const REMEMBERED_APPS = 1_000

type Job = {
  request: ToTemplates
  limitMs: number
  /** before all others of the app, in order */
  isFirst: boolean
  mayShare: boolean
  resolve: (answer: unknown) => void
  reject: (error: unknown) => void
}

type Limits = { budgetMs: number; spareMs?: number; isFirst?: boolean; mayShare?: boolean }

export type TemplateWorker = ReturnType<typeof createTemplateWorker>

const SLOW: TemplateFault = { slow: true }

/** One thread for all apps; the least active app goes first, so slow templates delay their own app only. */
export function createTemplateWorker({ renderMs = RENDER_MS, aloneMs = ALONE_MS, graceMs = GRACE_MS } = {}) {
  const waiting = new Map<number, Job[]>()
  const usedMs = new Map<number, number>()
  let leastMs = 0
  let thread: Promise<Thread> | null = null
  let isBusy = false

  const takeNext = (): [appId: number, jobs: Job[]] | null => {
    const used = (appId: number): number => usedMs.get(appId) ?? 0
    const [appId] = [...waiting.keys()].sort((a, b) => used(a) - used(b))
    const jobs = appId === undefined ? undefined : waiting.get(appId)
    if (appId === undefined || jobs === undefined) return null
    const alone = jobs.slice(0, TOGETHER).findIndex(({ mayShare }) => !mayShare)
    const next = jobs.splice(0, alone < 0 ? TOGETHER : Math.max(alone, 1))
    if (jobs.length === 0) waiting.delete(appId)
    leastMs = Math.max(leastMs, used(appId))
    return [appId, next]
  }

  const note = (appId: number, ms: number): void => {
    usedMs.set(appId, (usedMs.get(appId) ?? leastMs) + ms)
    if (usedMs.size <= REMEMBERED_APPS) return
    for (const [known, used] of usedMs) if (used <= leastMs && !waiting.has(known)) usedMs.delete(known)
  }

  /** null: out of time, and the thread was stopped. */
  const run = async (appId: number, jobs: Job[]): Promise<FromTemplates[] | null> => {
    thread ??= startThread()
    const running = await thread.catch((error: unknown) => {
      thread = null
      throw error
    })
    const startedAt = performance.now()
    // the last one may start just before the end
    const limitMs = jobs.slice(0, 2).reduce((sum, job) => sum + job.limitMs, 0)
    const text = await ask(running, JSON.stringify(jobs.map(({ request }) => request)), limitMs).catch(
      (error: unknown) => {
        thread = null
        running.terminate()
        throw error
      },
    )
    note(appId, performance.now() - startedAt)
    if (text !== null) return JSON.parse(text) as FromTemplates[]
    thread = null
    running.terminate()
    return null
  }

  /** They go next. `mayShare`: none of them is at fault. */
  const putBack = (appId: number, jobs: Job[], mayShare: boolean): void => {
    if (jobs.length === 0) return
    waiting.set(appId, [...jobs.map((job) => ({ ...job, mayShare })), ...(waiting.get(appId) ?? [])])
  }

  const answer = (appId: number, jobs: Job[], answers: FromTemplates[] | null): void => {
    if (answers === null && jobs.length > 1) return putBack(appId, jobs, false)
    const found = answers ?? [{ answer: null }]
    for (const [index, one] of found.entries()) {
      if ('failure' in one) jobs[index]?.reject(new Error(one.failure))
      else jobs[index]?.resolve(one.answer)
    }
    putBack(appId, jobs.slice(found.length), true)
  }

  const fail = (appId: number, jobs: Job[], error: unknown): void => {
    if (jobs.length > 1) putBack(appId, jobs, false)
    else jobs[0]?.reject(error)
  }

  const runNext = async (): Promise<void> => {
    const next = isBusy ? null : takeNext()
    if (!next) return
    isBusy = true
    const [appId, jobs] = next
    await run(appId, jobs).then(
      (answers) => answer(appId, jobs, answers),
      (error: unknown) => fail(appId, jobs, error),
    )
    isBusy = false
    void runNext()
  }

  /** `isFirst`: before everything else of the app. */
  const submit = <Answer>(
    appId: number,
    request: TemplateRequest,
    { budgetMs, spareMs = 0, isFirst = false, mayShare = false }: Limits,
  ): Promise<Answer | null> =>
    new Promise((resolve, reject) => {
      const jobs = waiting.get(appId) ?? []
      if (jobs.length >= MAX_WAITING && !isFirst) return resolve(null)
      if (jobs.length === 0) usedMs.set(appId, Math.max(usedMs.get(appId) ?? 0, leastMs))
      const job: Job = {
        request: { ...request, budgetMs },
        limitMs: budgetMs + spareMs + graceMs,
        isFirst,
        mayShare,
        resolve: resolve as (answer: unknown) => void,
        reject,
      }
      const others = jobs.findIndex((other) => !other.isFirst)
      jobs.splice(isFirst && others >= 0 ? others : jobs.length, 0, job)
      waiting.set(appId, jobs)
      void runNext()
    })

  /** Of members, who would otherwise be told that their text is slow. */
  const check = async <Answer>(appId: number, request: TemplateRequest, limits: Limits): Promise<Answer | null> => {
    const first = await submit<Answer>(appId, request, limits)
    return first ?? submit<Answer>(appId, request, { ...limits, spareMs: (BUSY_FACTOR - 1) * limits.budgetMs })
  }

  return {
    /** `isAlone`: ran out of time before. `isSent`: doesn't wait for previews. */
    async render(
      appId: number,
      mail: { template: MailTemplate; facts: MailFacts },
      { isAlone = false, isSent = false } = {},
    ): Promise<RenderedMail | TemplateFault> {
      const budgetMs = isAlone ? aloneMs : renderMs
      const ask = isSent && !isAlone ? submit : check
      return (
        (await ask<RenderedMail | TemplateFault>(
          appId,
          { render: mail },
          { budgetMs, isFirst: isSent, mayShare: isSent && !isAlone },
        )) ?? SLOW
      )
    },
    inspect: (appId: number, sources: readonly string[]): Promise<Inspection | null> =>
      check<Inspection>(appId, { inspect: sources }, { budgetMs: renderMs }),
    /** What is wrong with an app's own layout; null: it takes too long. */
    inspectLayout: (appId: number, layout: string): Promise<string[] | null> =>
      check<string[]>(appId, { layout }, { budgetMs: renderMs }),
    async tryAll(
      appId: number,
      trial: { template: MailTemplate; samples: readonly MailFacts[] },
      budgetMs: number,
    ): Promise<TrialResult> {
      // the last one may start just before the end
      const result = await check<TrialResult>(appId, { tryAll: trial }, { budgetMs, spareMs: renderMs })
      return result ?? { tried: 1, faults: [{ part: null, fault: SLOW, count: 1 }] }
    },
  }
}

function startThread(): Promise<Thread> {
  const started = takeWorker(TEMPLATE_THREAD)
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer)
      started.terminate()
      reject(new Error(`the template thread did not start: ${reason}`))
    }
    const timer = setTimeout(() => fail('no answer'), START_MS)
    started.onerror = ({ message }) => fail(message)
    started.onmessage = () => {
      clearTimeout(timer)
      // doesn't keep the process alive
      started.unref()
      resolve(started)
    }
  })
}

function ask(thread: Thread, text: string, withinMs: number): Promise<string | null> {
  return new Promise<string | null>((resolve, reject) => {
    // read an answer that arrived while this thread was busy
    const timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(null))), withinMs)
    thread.onmessage = ({ data }: MessageEvent<string>) => {
      clearTimeout(timer)
      resolve(data)
    }
    thread.onerror = ({ message }) => {
      clearTimeout(timer)
      reject(new Error(message))
    }
    thread.ref()
    thread.postMessage(text)
  }).finally(() => thread.unref())
}
