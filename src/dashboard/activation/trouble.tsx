/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { KeyRow } from '../../accounts/accounts.ts'
import type { Activation, Noted } from '../../events/activation.ts'
import { pathOf } from '../layout/frame.tsx'
import { Badge, type Mood } from '../ui/badge.tsx'
import { formatCount } from '../ui/chart.tsx'
import { Ticked } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'

/** Older refusals are not shown. */
const SHOWN_MS = 7 * 86_400_000

type TroubleProps = {
  activation: Activation
  keys: KeyRow[]
  /** a rotated secret is still valid */
  hasOldSecret: boolean
  appId: string
  now: number
}

/** Explains recent refusals. */
export function Trouble(props: TroubleProps) {
  const troubles = listTroubles(props)
  if (troubles.length === 0) return <p class="hint">Nothing was refused in the last seven days.</p>
  return (
    <ul class="troubles">
      {troubles.map(({ mood = 'bad', title, text, noted }) => (
        <li key={title}>
          <Badge mood={mood}>{title}</Badge>
          <p>{text}</p>
          {noted && <Count {...noted} now={props.now} />}
        </li>
      ))}
    </ul>
  )
}

type Trouble = { mood?: Mood; title: string; text: ComponentChildren; noted?: Noted }

function listTroubles({ activation, keys, hasOldSecret, appId, now }: TroubleProps): Trouble[] {
  const lately = (noted: Noted | null): Noted | null => (noted && now - noted.lastAt < SHOWN_MS ? noted : null)
  const about: [Noted | null, (noted: Noted) => Omit<Trouble, 'noted'>][] = [
    [
      activation.refusedCall,
      ({ reason }) => ({ title: 'A call of your server was refused', text: <Ticked>{reason ?? ''}</Ticked> }),
    ],
    [
      activation.failedSignature,
      ({ reason }) => ({ title: 'A signature was wrong', text: <WrongSignature reason={reason} /> }),
    ],
    [
      activation.refused,
      ({ reason }) => ({
        title: 'A report of a page was refused',
        text: <Ticked>{reason ?? ''}</Ticked>,
      }),
    ],
    [activation.foreignHost, () => ({ title: 'A page of another host reported', text: <ForeignHost appId={appId} /> })],
    [
      activation.limited,
      ({ reason }) => ({ mood: 'caution', title: 'Pages sent too much', text: <Ticked>{reason ?? ''}</Ticked> }),
    ],
    [activation.withoutEmail, () => WITHOUT_EMAIL],
    [
      activation.unknownPeople,
      () => ({ mood: 'caution', title: 'Unknown people', text: <UnknownPeople appId={appId} /> }),
    ],
    [hasOldSecret ? activation.oldSecret : null, () => OLD_SECRET],
  ]
  const noted = about.flatMap(([one, tell]) => {
    const recent = lately(one)
    return recent ? [{ ...tell(recent), noted: recent }] : []
  })
  return [...noted, ...keys.filter(({ seenInBrowserAt }) => seenInBrowserAt !== null).map((key) => exposed(key, appId))]
}

const WITHOUT_EMAIL: Trouble = {
  mood: 'caution',
  title: 'Something came without an email',
  text: 'An event and a page view are about a person. Send the email of the signed-in person.',
}

const OLD_SECRET: Trouble = {
  mood: 'caution',
  title: 'Signatures of a previous secret',
  text: 'A server still signs with the previous identity secret. It stops working 24 hours after the rotation.',
}

const REASONS = new Map<string, string>(
  Object.entries({
    uppercase: 'It was in uppercase. Send it as lowercase hexadecimal.',
    malformed: 'It was not 64 characters of hexadecimal.',
  }),
)

const WrongSignature = ({ reason }: Pick<Noted, 'reason'>) => (
  <>
    {REASONS.get(reason ?? '') ?? 'It matches none of your identity secrets.'} <a href="#check">Check one</a>
  </>
)

const ForeignHost = ({ appId }: { appId: string }) => (
  <>
    Its pages may not report here. The list of those that may is in <a href={pathOf(appId, 'settings')}>Settings</a>.
  </>
)

const UnknownPeople = ({ appId }: { appId: string }) => (
  <>
    Pages reported people whom this app did not know. Send an event of each with <code>createContact</code>, or let
    pages add them in <a href={pathOf(appId, 'settings')}>Settings</a>.
  </>
)

const exposed = ({ name }: KeyRow, appId: string): Trouble => ({
  title: 'A key was seen in a browser',
  text: (
    <>
      Whoever opens that page can read “{name}”. Create a new one for your server, then revoke this one, in{' '}
      <a href={pathOf(appId, 'keys')}>API keys</a>.
    </>
  ),
})

const Count = ({ count, lastAt, origin, now }: Noted & { now: number }) => (
  <p class="hint small">
    {count === 1 ? 'Once, ' : `The last of ${formatCount(count)}, `}
    <Time at={lastAt} now={now} />
    {origin !== null && `, from ${origin}`}
  </p>
)
