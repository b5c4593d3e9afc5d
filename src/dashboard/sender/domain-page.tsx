/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { hasRole } from '../../accounts/members.ts'
import { findProvider } from '../../accounts/mail-providers.ts'
import { domainOf, type DomainStatus, type SenderProof } from '../../accounts/senders.ts'
import {
  type DkimText,
  type DnsRecord,
  listKeyNames,
  proposeSelector,
  publishedOf,
  readDkimKeys,
} from '../../accounts/dkim.ts'
import {
  type CheckedSender,
  checkOneClick,
  isAligned,
  type LastCheck,
  listUnchecked,
  type SenderCheck,
  nameChecks,
} from '../../accounts/sender-checks.ts'
import { pathOf } from '../layout/frame.tsx'
import { SetAddress } from '../layout/mail-notices.tsx'
import { isLinkUnreachable } from '../../people/unsubscribe.ts'
import { Badge, type Mood } from '../ui/badge.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime } from '../ui/time.tsx'
import { Value, Values } from '../ui/values.tsx'
import { isOwner, type Refused, type SenderFacts, SenderFrame } from './sender-frame.tsx'

/** A record in the form that DNS providers ask for. */
const RecordValues = ({ id, record }: { id: string; record: DnsRecord }) => (
  <Values>
    <Value id={`${id}-name`} name={`Name (${record.type})`}>
      {record.name}
    </Value>
    <Value id={`${id}-value`} name="Value">
      {record.value}
    </Value>
  </Values>
)

const PROOFS: Record<SenderProof, string> = {
  txt: 'Verified by its TXT record.',
  dkim: 'Verified by a DKIM key in its DNS.',
  operator: 'Reserved for this account by the operator of this installation.',
  existing: 'Used by this account before verification was required.',
}

/** `last` null: its records were never looked up. `isChecking`: a lookup is running. */
type CheckedDomain = { sender: CheckedSender; last: LastCheck | null; isChecking: boolean }

type DomainProps = {
  facts: SenderFacts
  refused: Refused<DkimText>
  /** of each domain, the default one first; empty without a sender */
  checked: CheckedDomain[]
  /** domains of the sender addresses; `isChecked`: DNS was just queried */
  domains: DomainStatus[]
  isChecked: boolean
  /** DKIM keys of the account's other apps; empty for members who can't create one */
  otherKeys: DkimText[]
}

export const DomainPage = (props: DomainProps) => (
  <SenderFrame facts={props.facts} current="sender/domain" state={<State {...props} />} refused={props.refused}>
    <DomainsSection {...props} />
    <RecordsSection {...props} />
    <OneClickSection {...props} />
  </SenderFrame>
)

const State = ({ facts: { mailRoute }, checked: [first] }: DomainProps) =>
  mailRoute.from === null ? (
    'No sender yet, so there is no domain to check.'
  ) : (
    <>
      Emails come from <SentText>{domainOf(mailRoute.from.address)}</SentText>. {first && describeRecords(first)}
    </>
  )

function describeRecords({ last, isChecking }: CheckedDomain): string {
  if (last === null) return `Its DNS records ${isChecking ? 'are being checked' : "haven't been checked yet"}.`
  const open = last.checks.filter(({ state }) => state === 'bad' || state === 'caution')
  if (open.length > 0) return `Its DNS records need attention: ${nameChecks(open)}.`
  if (last.checks.every(({ state }) => state === 'good' || state === 'unseen'))
    return 'No problems found in its DNS records.'
  const unchecked = last.checks.filter(({ state }) => state === 'unchecked')
  return unchecked.length === 0
    ? 'Some of its DNS records could not be read.'
    : `Not checked yet: ${nameChecks(unchecked)}.`
}

/** Domains to verify, because other accounts use the same mail server. */
const DomainsSection = ({ facts: { viewer }, domains, isChecked }: DomainProps) => {
  const needed = domains.filter(({ state }) => state !== 'not_needed')
  const isOpen = needed.some(({ state }) => state === 'unverified')
  return (
    needed.length > 0 && (
      <section id={DOMAINS}>
        <h2>Domains</h2>
        <p>Other accounts use the same mail server, so each account verifies its domains.</p>
        {isChecked && isOpen && (
          <Notice kind="caution">Some records weren't found. New records can take an hour to appear.</Notice>
        )}
        <ul class="fact-list">
          {needed.map(({ domain, state, proof, record }) => (
            <li key={domain}>
              <p class="with-badge">
                <b>{domain}</b>
                {state === 'verified' ? <Badge mood="good">Verified</Badge> : <Badge mood="bad">Not verified</Badge>}
              </p>
              <p class="hint">
                {proof === null ? `Emails from ${domain} wait until this record is in its DNS.` : PROOFS[proof]}
              </p>
              {record && <RecordValues id={`domain-${domain}`} record={record} />}
            </li>
          ))}
        </ul>
        {isOpen && hasRole(viewer.member.role, 'editor') && (
          <ActionForm action={`${pathOf(viewer.app.publicId, 'sender')}/domains#${DOMAINS}`}>Check now</ActionForm>
        )}
      </section>
    )
  )
}

const DOMAINS = 'domains'

/** Below the record of the key, or where it would be. */
const DkimKeys = (props: DomainProps) => {
  const { settings, viewer, mailRoute } = props.facts
  const signer = mailRoute.isApi ? findProvider(mailRoute.provider ?? '') : null
  const { signing, waiting } = readDkimKeys(settings)
  const hasKey = settings.dkimKey !== null
  if (signer?.api && !hasKey) {
    return (
      <p class="hint">{`${signer.name} signs this app's emails, so Eventpost needs no key. ${signer.api.records}`}</p>
    )
  }
  return (
    <div id="dkim" class="key-actions">
      {signer && <p class="hint">{`${signer.name} signs this app's emails. The app's key is used only over SMTP.`}</p>}
      {signing !== null && publishedOf(signing) === null && (
        <Notice kind="error">The key can't be read, so no email is sent. Create a new key.</Notice>
      )}
      <OtherDomain {...props.facts} />
      {isOwner(viewer) && (
        <>
          {hasKey && (
            <div class="buttons">
              {waiting !== null && <WaitingKey {...props} isFirst={signing === null} />}
              {signing !== null && <RemoveKey {...props} />}
            </div>
          )}
          <KeyForm {...props} />
        </>
      )}
    </div>
  )
}

const OtherDomain = ({ settings, mailRoute: { from } }: SenderFacts) => {
  const { signing, waiting } = readDkimKeys(settings)
  const key = waiting ?? signing
  const sender = from?.address.split('@')[1]?.toLowerCase()
  if (key === null || sender === undefined) return null
  return isAligned(key.domain, sender) ? null : (
    <Notice kind="caution">
      Emails come from {sender}, but the key is for {key.domain}, so its signature doesn't count for DMARC. Create a key
      for {sender}.
    </Notice>
  )
}

const KeyForm = ({ facts: { viewer, settings, mailRoute, marks }, refused, otherKeys }: DomainProps) => {
  const keys = readDkimKeys(settings)
  const current = keys.waiting ?? keys.signing
  const domain = refused.text?.domain ?? current?.domain ?? mailRoute.from?.address.split('@')[1] ?? ''
  const taken = [...listKeyNames(settings), ...otherKeys]
  const errors = refused.errors?.filter(({ field }) => field !== SOURCE) ?? []
  return (
    <details open={errors.length > 0}>
      <summary>{current === null ? 'Create a DKIM key' : 'Create a new DKIM key'}</summary>
      <p>
        {current === null
          ? 'Skip this if your email provider signs emails, as Postmark, Resend and Amazon SES do. Create a key only if you run the mail server yourself.'
          : [keys.waiting && DISCARDS, keys.signing && STILL_SIGNS].filter((said) => said !== null).join(' ')}
      </p>
      <Form
        action={`${pathOf(viewer.app.publicId, 'sender')}/dkim`}
        hidden={{ basedOn: refused.basedOn ?? marks.dkim }}
        errors={errors}
        submit="Create the key"
        kind="plain"
      >
        <Field name="dkimDomain" label="Domain" value={domain} autocomplete="off" />
        <Field
          name="dkimSelector"
          label="Selector"
          hint="Names this key. A domain can have several keys."
          value={refused.text?.selector ?? proposeSelector(keys, domain.toLowerCase(), taken)}
          autocomplete="off"
        />
      </Form>
    </details>
  )
}

const DISCARDS = 'This discards the new key above, which is waiting for its record.'
const STILL_SIGNS = "The current key signs emails until the new key's record is found."

type KeyProps = DomainProps & { isFirst: boolean }

const WaitingKey = ({ facts: { viewer, marks }, isFirst }: KeyProps) => {
  const path = `${pathOf(viewer.app.publicId, 'sender')}/dkim`
  return (
    <>
      <Dialog id="use-key" opener="Use it anyway" title="Use the new key before its record is found?">
        <p>
          It signs the next email.{!isFirst && ' The current key stops signing.'} Until receivers find the record, the
          signature fails, and emails may go to spam or be refused.
        </p>
        <ActionForm action={`${path}/use`} fields={{ basedOn: marks.dkim }} kind="primary">
          Use it anyway
        </ActionForm>
      </Dialog>
      <Dialog id="discard-key" opener="Discard the new key" kind="danger" title="Discard the new key?">
        <p>
          {isFirst ? 'Emails stay unsigned, unless your email provider signs them.' : 'The current key keeps signing.'}
        </p>
        <ActionForm action={`${path}/discard`} fields={{ basedOn: marks.dkim }} kind="danger">
          Discard the new key
        </ActionForm>
      </Dialog>
    </>
  )
}

const RemoveKey = ({ facts: { viewer, marks, settings } }: DomainProps) => {
  const isBoth = readDkimKeys(settings).waiting !== null
  const label = isBoth ? 'Remove both keys' : 'Remove the key'
  return (
    <Dialog id="remove-key" opener={label} kind="danger" title={`${label}?`}>
      <p>Emails are then sent unsigned, unless your email provider signs them.</p>
      <ActionForm
        action={`${pathOf(viewer.app.publicId, 'sender')}/dkim/remove`}
        fields={{ basedOn: marks.dkim }}
        kind="danger"
      >
        {label}
      </ActionForm>
    </Dialog>
  )
}

const STATES: Record<SenderCheck['state'], { word: string; mood: Mood }> = {
  unchecked: { word: 'Not checked', mood: 'quiet' },
  good: { word: 'Good', mood: 'good' },
  caution: { word: 'To do', mood: 'caution' },
  bad: { word: 'Wrong', mood: 'bad' },
  unasked: { word: 'No response', mood: 'quiet' },
  unseen: { word: 'Unknown', mood: 'quiet' },
}

export const CHECKS = 'checks'

const RecordsSection = (props: DomainProps) => {
  const { viewer } = props.facts
  const [first, ...others] = props.checked
  return (
    <section id={CHECKS}>
      <h2>DNS records</h2>
      {first ? (
        <p>
          Without these records, emails may go to spam. If you use an email provider, such as Postmark or Amazon SES,
          also add the records that it lists for your domain.
        </p>
      ) : (
        <DkimKeys {...props} />
      )}
      {first && (
        <Records {...first} id="check">
          <DkimKeys {...props} />
        </Records>
      )}
      {others.map((one) => (
        <details key={one.sender.domain}>
          <summary>
            {one.sender.domain}: {describeRecords(one)}
          </summary>
          <Records {...one} id={`check-${one.sender.domain}`} />
        </details>
      ))}
      {first && hasRole(viewer.member.role, 'editor') && (
        <>
          <ActionForm action={`${pathOf(viewer.app.publicId, 'sender')}/check`}>
            {first.last === null ? 'Check the records' : 'Check again'}
          </ActionForm>
          <ReceivedForm {...props} />
        </>
      )}
    </section>
  )
}

const IS_OF_KEY: readonly SenderCheck['about'][] = ['DKIM', 'New DKIM key']

/**
 * `id`: starts the ids of what can be copied. `children`: what belongs to the DKIM keys, which all domains share; of the
 * default sender's domain only.
 */
const Records = ({ sender, last, isChecking, id, children }: RecordsProps) => {
  const isDefault = children !== undefined
  const checks = last?.checks ?? listUnchecked(sender)
  const ofKey = checks.findLast(({ about }) => IS_OF_KEY.includes(about))
  return (
    <>
      <ul class="fact-list">
        {checks.map((check) => {
          // other domains have the same keys
          const record = !isDefault && IS_OF_KEY.includes(check.about) ? null : check.record
          return (
            <li key={check.about}>
              <CheckLine {...check} />
              {record && <RecordValues id={`${id}-${check.about.replaceAll(' ', '-')}`} record={record} />}
              {check === ofKey && children}
            </li>
          )
        })}
      </ul>
      {(last !== null || isChecking) && (
        <p class="hint">
          {last && (
            <>
              Checked <ExactTime at={last.checkedAt} />.{' '}
            </>
          )}
          {isChecking
            ? `The records are being checked${last === null ? '' : ' again'}. Reload the page in a moment.`
            : `Checked again at most once ${sender.nextDkim === null ? 'a day' : 'an hour'}, when ${isDefault ? 'an email is sent or someone views this page or Overview' : 'someone views this page'}.`}
        </p>
      )}
    </>
  )
}

type RecordsProps = CheckedDomain & { id: string; children?: ComponentChildren }

type LineProps = Pick<SenderCheck, 'state' | 'isAbsent' | 'sentence'> & { about: string }

const CheckLine = ({ about, state, isAbsent, sentence }: LineProps) => (
  <>
    <p class="with-badge">
      <b>{about}</b>
      <Badge mood={STATES[state].mood}>{isAbsent ? 'Missing' : STATES[state].word}</Badge>
    </p>
    <p class="hint">
      <SentText most={600}>{sentence}</SentText>
    </p>
  </>
)

/** Not a DNS record, but a property of the emails. */
const OneClickSection = ({ facts: { baseUrl }, checked }: DomainProps) => {
  const checks = checked.map(({ sender }) => ({ domain: sender.domain, ...checkOneClick(sender) }))
  const [first] = checks
  if (first === undefined) return null
  const isAlike = checks.every(({ state }) => state === first.state)
  const isLost = isLinkUnreachable(baseUrl) && first.state !== 'bad' && first.state !== 'caution'
  return (
    <section id="one-click">
      <h2>One-click unsubscribe</h2>
      <p>
        A property of the emails, not a DNS record. Mail apps show an unsubscribe button if the unsubscribe headers are
        signed.
      </p>
      <ul class="fact-list">
        {(isAlike ? [first] : checks).map(({ domain, state, sentence }) => (
          <li key={domain}>
            <CheckLine
              about={isAlike ? 'Headers' : domain}
              state={isLost ? 'caution' : state}
              sentence={isLost ? `${sentence} The unsubscribe link works only on this machine.` : sentence}
            />
          </li>
        ))}
      </ul>
      {isLost && (
        <p class="hint">
          <SetAddress />
        </p>
      )}
    </section>
  )
}

const SOURCE = 'source'

/** Only a received email shows what a provider changed. */
const ReceivedForm = ({ facts: { viewer }, refused: { errors } }: DomainProps) => {
  const own = errors?.filter(({ field }) => field === SOURCE) ?? []
  return (
    <details open={own.length > 0}>
      <summary>Check an email that you received</summary>
      <p>
        This shows who signed it, where bounces go, and whether its unsubscribe headers are signed.{' '}
        <a href={pathOf(viewer.app.publicId, 'sender/server')}>Send yourself a test email</a>, open its source in your
        mail app (in Gmail, “Show original”), and paste it here.
      </p>
      <Form
        action={`${pathOf(viewer.app.publicId, 'sender')}/received`}
        errors={own}
        submit="Check this email"
        kind="plain"
      >
        <Field
          name={SOURCE}
          label="Source of the email"
          kind="lines"
          hint="The headers are enough. Only the results are stored."
          autocomplete="off"
        />
      </Form>
    </details>
  )
}
