/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import { findProvider } from '../../accounts/mail-providers.ts'
import { domainOf, type DomainStatus, type SenderProof } from '../../accounts/senders.ts'
import { dkimRecord, type DkimText, readPublicKey, type DnsRecord } from '../../accounts/dkim.ts'
import { type LastCheck, type SenderCheck, UNCHECKED } from '../../accounts/sender-checks.ts'
import { pathOf } from '../layout/frame.tsx'
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
  dkim: 'Verified by the DKIM key of this app.',
  operator: 'Reserved for this account by the operator of this installation.',
  existing: 'Used by this account before verification was required.',
}

/** `last` null: its records were never looked up. `isChecking`: they are being looked up again. */
type CheckedDomain = { domain: string; last: LastCheck | null; isChecking: boolean }

type DomainProps = {
  facts: SenderFacts
  refused: Refused<DkimText>
  /** of each domain, the default one first; empty without a sender */
  checked: CheckedDomain[]
  /** domains of the sender addresses; `isChecked`: DNS was just queried */
  domains: DomainStatus[]
  isChecked: boolean
}

export const DomainPage = (props: DomainProps) => (
  <SenderFrame facts={props.facts} current="sender/domain" state={<State {...props} />} refused={props.refused}>
    <DomainsSection {...props} />
    <ChecksSection {...props} />
    <DkimSection {...props} />
  </SenderFrame>
)

const State = ({ facts: { mailRoute }, checked: [first] }: DomainProps) =>
  mailRoute.from === null ? (
    'No sender yet, so there is no domain to check.'
  ) : (
    <>
      Emails come from <SentText>{domainOf(mailRoute.from.address)}</SentText>. {describeRecords(first?.last ?? null)}
    </>
  )

function describeRecords(last: LastCheck | null): string {
  if (last === null) return "Its DNS records haven't been checked yet."
  const open = last.checks.filter(({ state }) => state === 'bad' || state === 'caution').map(({ about }) => about)
  if (open.length > 0) return `Its DNS records are incomplete: ${new Intl.ListFormat('en').format(open)}.`
  if (last.checks.every(({ state }) => state === 'good' || state === 'unseen')) return 'Its DNS records are correct.'
  const unchecked = last.checks.filter(({ state }) => state === 'unchecked').map(({ about }) => about)
  return unchecked.length === 0
    ? 'Some of its DNS records could not be read.'
    : `Not checked yet: ${new Intl.ListFormat('en').format(unchecked)}.`
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

const DkimSection = (props: DomainProps) => {
  const { settings, viewer, mailRoute } = props.facts
  const signer = mailRoute.isApi ? findProvider(mailRoute.provider ?? '') : null
  if (signer?.api && settings.dkimKey === null) return <SignedByProvider {...signer} records={signer.api.records} />
  return (
    <section id="dkim">
      <h2>DKIM signature</h2>
      <p>
        {signer
          ? `${signer.name} signs this app's emails. The key below is used only over SMTP.`
          : 'Skip this if your email provider signs emails, as Postmark, Resend and Amazon SES do. Create a key pair only if you run the mail server yourself.'}
      </p>
      <PublishedKey {...settings} />
      <OtherDomain {...props.facts} />
      {isOwner(viewer) && (settings.dkimKey === null ? <KeyForm {...props} /> : <ChangeKey {...props} />)}
    </section>
  )
}

const SignedByProvider = ({ name, records }: { name: string; records: string }) => (
  <section id="dkim">
    <h2>DKIM signature</h2>
    <p>{`${name} signs this app's emails, so Eventpost needs no key. ${records}`}</p>
  </section>
)

/** DMARC alignment accepts subdomains. */
const OtherDomain = ({ settings: { dkimDomain, dkimKey }, mailRoute: { from } }: SenderFacts) => {
  const sender = from?.address.split('@')[1]?.toLowerCase()
  if (dkimKey === null || dkimDomain === null || sender === undefined) return null
  const isAligned = sender === dkimDomain || sender.endsWith(`.${dkimDomain}`) || dkimDomain.endsWith(`.${sender}`)
  return isAligned ? null : (
    <Notice kind="caution">
      Emails come from {sender} but are signed for {dkimDomain}, so receivers ignore the signature. Create a key pair
      for {sender}.
    </Notice>
  )
}

const PublishedKey = ({ dkimDomain, dkimSelector, dkimKey }: SenderFacts['settings']) => {
  if (dkimKey === null || dkimDomain === null || dkimSelector === null) {
    return <p class="hint">Eventpost doesn't sign this app's emails.</p>
  }
  const publicKey = readPublicKey(dkimKey)
  return publicKey === null ? (
    <Notice kind="error">The key can't be read, so no email is sent. Create a new one.</Notice>
  ) : (
    <>
      <p class="hint">Emails are signed. Publish this record in the DNS of {dkimDomain}.</p>
      <RecordValues id="dkim" record={dkimRecord({ domain: dkimDomain, selector: dkimSelector }, publicKey)} />
    </>
  )
}

const KeyForm = ({ facts: { viewer, settings, mailRoute, marks }, refused }: DomainProps) => (
  <Form
    action={`${pathOf(viewer.app.publicId, 'sender')}/dkim`}
    hidden={{ basedOn: refused.basedOn ?? marks.dkim }}
    errors={refused.errors?.filter(({ field }) => field !== SOURCE)}
    submit="Create a key pair"
    kind="plain"
  >
    <Field
      name="dkimDomain"
      label="Domain"
      value={refused.text?.domain ?? settings.dkimDomain ?? mailRoute.from?.address.split('@')[1] ?? ''}
      autocomplete="off"
    />
    <Field
      name="dkimSelector"
      label="Selector"
      hint="Names this key. A domain can have several keys."
      value={refused.text?.selector ?? settings.dkimSelector ?? 'eventpost'}
      autocomplete="off"
    />
  </Form>
)

/** Until the DNS record is updated, signatures fail. */
const ChangeKey = (props: DomainProps) => (
  <div class="buttons">
    <Dialog id="new-key" opener="Create a new key pair" title="Create a new key pair?">
      <p>
        It signs the next email, so publish its record right away. With a different selector, the old key stays valid
        for emails in transit.
      </p>
      <KeyForm {...props} />
    </Dialog>
    <Dialog id="remove-key" opener="Remove the key" kind="danger" title="Remove the key?">
      <p>Emails are then sent unsigned, unless your email provider signs them.</p>
      <ActionForm
        action={`${pathOf(props.facts.viewer.app.publicId, 'sender')}/dkim/remove`}
        fields={{ basedOn: props.facts.marks.dkim }}
        kind="danger"
      >
        Remove the key
      </ActionForm>
    </Dialog>
  </div>
)

const STATES: Record<SenderCheck['state'], { word: string; mood: Mood }> = {
  unchecked: { word: 'Not checked', mood: 'quiet' },
  good: { word: 'Good', mood: 'good' },
  caution: { word: 'To do', mood: 'caution' },
  bad: { word: 'Wrong', mood: 'bad' },
  unasked: { word: 'No answer', mood: 'quiet' },
  unseen: { word: 'Unknown', mood: 'quiet' },
}

export const CHECKS = 'checks'

const ChecksSection = (props: DomainProps) => {
  const { viewer } = props.facts
  const [first, ...others] = props.checked
  return (
    <section id={CHECKS}>
      <h2>DNS records</h2>
      <p>
        Without these records, emails may go to spam. If you use an email provider, such as Postmark or Amazon SES, add
        the records that it lists for your domain, then check them here.
      </p>
      {first && <Checks {...first} id="check" />}
      {others.map((one) => (
        <details key={one.domain}>
          <summary>
            {one.domain}: {describeRecords(one.last)}
          </summary>
          <Checks {...one} id={`check-${one.domain}`} />
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

/** `id`: starts the ids of what can be copied. */
const Checks = ({ last, isChecking, id }: CheckedDomain & { id: string }) => (
  <>
    <ul class="fact-list">
      {(last?.checks ?? Object.values(UNCHECKED)).map((check) => (
        <li key={check.about}>
          <p class="with-badge">
            <b>{check.about}</b>
            <Badge mood={STATES[check.state].mood}>{check.isAbsent ? 'Missing' : STATES[check.state].word}</Badge>
          </p>
          <p class="hint">
            <SentText most={600}>{check.sentence}</SentText>
          </p>
          {check.record && <RecordValues id={`${id}-${check.about.replaceAll(' ', '-')}`} record={check.record} />}
        </li>
      ))}
    </ul>
    {last && (
      <p class="hint">
        Checked <ExactTime at={last.checkedAt} />.{' '}
        {isChecking
          ? 'The records are being checked again. Reload the page in a moment.'
          : 'Checked again daily while emails are sent or someone views this page.'}
      </p>
    )}
  </>
)

const SOURCE = 'source'

/** Only a received email shows what a provider made of it. */
const ReceivedForm = ({ facts: { viewer }, refused: { errors } }: DomainProps) => {
  const own = errors?.filter(({ field }) => field === SOURCE) ?? []
  return (
    <details open={own.length > 0}>
      <summary>Check an email that you received</summary>
      <p>
        It shows who signed it, where it bounces, and whether its unsubscribe headers are signed.{' '}
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
          hint="The headers are enough. They are not stored."
          autocomplete="off"
        />
      </Form>
    </details>
  )
}
