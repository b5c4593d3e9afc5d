/**
 * What visitors do around the moment in which their results are ready. Minutes count from there; nobody knows the service.
 * Nobody watches one page for half an hour without a sign: from there on they count as gone.
 */
import type { Random } from '../../random.ts'
import type { Visitor } from './visitor.ts'

type Act = (visitor: Visitor) => Promise<void>
export type Step = [minute: number, act: Act]
/** `isUnknown`: nothing may be known of the person, and the message's own word about such people is the right decision. */
export type Script = { described: string; isUnknown?: true; steps: Step[] }

const STARTED_MS = 4_000
const MINUTE_MS = 60_000
const SOON = STARTED_MS / MINUTE_MS

const come = (minute: number, answer: 'yes' | 'no' | null = 'yes'): Step[] => [
  [minute, (visitor) => visitor.arrive(answer)],
  [minute + SOON, (visitor) => visitor.startJob()],
]
const leaveAt = (minute: number): Step => [minute, (visitor) => visitor.closeAll()]

/** How long before the event someone comes, and how long before it they go or move on. */
function makeTimes(random: Random) {
  const go = -random.between(1 / 6, 20)
  return { come: go - random.between(0.3, 8), go, stayUntil: random.between(11, 28), soon: random.between(0.2, 9) }
}

const goAway = (random: Random): [string, Act] =>
  random.pick<[string, Act]>([
    ['hides the tab', (visitor) => visitor.hide()],
    ['closes the tab', (visitor) => visitor.closeAll()],
  ])

const elsewhere = (random: Random): '/home' | '/settings' => random.pick(['/home', '/settings'])

function watchResults(random: Random): Script {
  const { go, stayUntil, soon } = makeTimes(random)
  const clicks = random.isOften(0.5)
  const click: Step[] = clicks ? [[soon, (visitor) => visitor.clickResult()]] : []
  return { described: clicks ? 'clicks them' : 'only looks', steps: [...come(go - 1), ...click, leaveAt(stayUntil)] }
}

function watchAnother(random: Random): Script {
  const { come: comeAt, go, stayUntil, soon } = makeTimes(random)
  const moves: Step[] = random.isOften(0.4) ? [[soon, (visitor) => visitor.view('/studio/pictures')]] : []
  const path = elsewhere(random)
  const steps: Step[] = [...come(comeAt), [go, (visitor) => visitor.view(path)], ...moves, leaveAt(stayUntil)]
  return { described: `${path}${moves.length > 0 ? ', then the studio' : ''}`, steps }
}

const hideTab = (random: Random): Script => goBy(random, 'hidden', (visitor) => visitor.hide())
const closeTab = (random: Random): Script => goBy(random, 'closed', (visitor) => visitor.closeAll())
const crashTab = (random: Random): Script => goBy(random, 'crashed', (visitor) => visitor.crash())

function goBy(random: Random, described: string, act: Act): Script {
  const { come: comeAt, go } = makeTimes(random)
  const moves: Step[] = random.isOften(0.5) ? [[(comeAt + go) / 2, (visitor) => visitor.view('/settings')]] : []
  return { described, steps: [...come(comeAt), ...moves, [go, act]] }
}

function loseNetwork(random: Random): Script {
  const { come: comeAt, go, stayUntil } = makeTimes(random)
  const offline: Step = [go, (visitor) => visitor.goOffline()]
  const after = go / 2
  const [described, steps] = random.pick<[string, Step[]]>([
    ['stays without it', []],
    ['hides the tab without it', [[after, (visitor) => visitor.hide()]]],
    ['closes the tab without it', [[after, (visitor) => visitor.closeAll()]]],
    [
      'hid the tab, and gets it back',
      [
        [go * 0.7, (visitor) => visitor.hide()],
        [after, (visitor) => visitor.goOnline()],
      ],
    ],
    ['gets it back and watches', [[after, (visitor) => visitor.goOnline()], leaveAt(stayUntil)]],
  ])
  return { described, steps: [...come(comeAt), offline, ...steps] }
}

function refuseConsent(random: Random): Script {
  const { come: comeAt, go, stayUntil } = makeTimes(random)
  const answer = random.pick(['no', null] as const)
  const isGone = random.isOften(0.5)
  return {
    described: `${answer === null ? 'answers nothing' : 'says no'}, ${isGone ? 'leaves' : 'watches'}`,
    isUnknown: true,
    steps: [...come(comeAt, answer), leaveAt(isGone ? go : stayUntil)],
  }
}

function stayNameless(random: Random): Script {
  const { come: comeAt, go, stayUntil } = makeTimes(random)
  const isGone = random.isOften(0.5)
  const steps: Step[] = [[comeAt, (visitor) => visitor.arriveNameless()], leaveAt(isGone ? go : stayUntil)]
  return { described: isGone ? 'leaves' : 'watches', isUnknown: true, steps }
}

function useTwoTabs(random: Random): Script {
  const { come: comeAt, go, stayUntil } = makeTimes(random)
  const path = elsewhere(random)
  const second: Step = [(comeAt + go) / 2, (visitor) => visitor.openTab(path)]
  const end = leaveAt(stayUntil)
  const [described, steps] = random.pick<[string, Step[]]>([
    ['the second in front', [end]],
    ['the first in front again', [[go, (visitor) => visitor.show(0)], end]],
    ['the first closed', [[go, (visitor) => visitor.close(0)], end]],
    [
      'the second closed, the first in front',
      [[go, (visitor) => visitor.close(1)], [go, (visitor) => visitor.show(0)], end],
    ],
    ['both behind another', [[go, (visitor) => visitor.hide()]]],
    ['both closed', [leaveAt(go)]],
    ['the second crashed, the first hidden', [[go, (visitor) => visitor.crash()]]],
  ])
  return { described, steps: [...come(comeAt), second, ...steps] }
}

function comeBackElsewhere(random: Random): Script {
  const { come: comeAt, go, stayUntil, soon } = makeTimes(random)
  const [described, away] = goAway(random)
  const path = elsewhere(random)
  const steps: Step[] = [...come(comeAt), [go, away], [soon, (visitor) => visitor.comeBack(path)], leaveAt(stayUntil)]
  return { described: `${described}, then ${path}`, steps }
}

function comeBackToResult(random: Random): Script {
  const { come: comeAt, go, soon } = makeTimes(random)
  const [described, away] = goAway(random)
  // also in the last second before the mail is due
  const backAt = random.isOften(0.2) ? 10 - 1 / 60 : soon
  const leaves: Step[] = random.isOften(0.5) ? [leaveAt(backAt + 0.01)] : []
  const steps: Step[] = [...come(comeAt), [go, away], [backAt, (visitor) => visitor.comeBack('result')], ...leaves]
  return { described: `${described}, then the result${leaves.length > 0 ? ', and leaves' : ''}`, steps }
}

function stayTwentyMinutes(random: Random): Script {
  const path = random.pick(['/studio/make', '/home', '/settings'] as const)
  const comeAt = -random.between(1, 8)
  const moves: Step[] = path === '/studio/make' ? [] : [[comeAt / 2, (visitor) => visitor.view(path)]]
  return { described: path, steps: [...come(comeAt), ...moves, leaveAt(20)] }
}

export const KINDS: Record<string, (random: Random) => Script> = {
  'watches the page where the results appear': watchResults,
  'watches another page of the site': watchAnother,
  'hides the tab': hideTab,
  'closes the tab': closeTab,
  'loses the tab in a crash': crashTab,
  'loses the network': loseNetwork,
  'consents to nothing': refuseConsent,
  'is never identified': stayNameless,
  'has two tabs': useTwoTabs,
  'comes back elsewhere before the mail is due': comeBackElsewhere,
  'comes back to the result before the mail is due': comeBackToResult,
  'stays twenty minutes': stayTwentyMinutes,
}
