/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import type { Consent, ConsentSource } from '../../people/consent.ts'
import type { ContactRow } from '../../people/contacts.ts'
import { personPath } from '../events/feed.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { ActionForm } from '../ui/button.tsx'
import { ExactTime } from '../ui/time.tsx'
import { Fact, Values } from '../ui/values.tsx'

const SOURCES: Record<ConsentSource, string> = {
  api: 'Asked over the API',
  mcp: 'Asked over MCP',
  dashboard: 'Asked by a member',
  page: 'Requested by the person after a link expired',
}

export const describeAsked = ({ source }: Consent): string => SOURCES[source]

type ConsentProps = {
  viewer: Viewer
  person: ContactRow
  /** newest first */
  consents: Consent[]
  /** people can be asked */
  isOptInOn: boolean
}

/** The evidence of consent, or the note that there is none. */
export function ConsentSection({ viewer, person, consents, isOptInOn }: ConsentProps) {
  const shown = consents.find(({ confirmedAt }) => confirmedAt !== null) ?? consents[0]
  const isPending = person.status === 'pending'
  if (!shown && !isPending) return null
  return (
    <section id="consent">
      <h2>Consent</h2>
      {shown ? (
        <Evidence consent={shown} asked={consents.length} />
      ) : (
        <p class="hint">This person hasn't been asked yet.</p>
      )}
      {isPending && isOptInOn && hasRole(viewer.member.role, 'editor') && (
        <ActionForm action={`${personPath(viewer.app.publicId, person.id)}/ask`}>
          {shown ? 'Ask again' : 'Ask'}
        </ActionForm>
      )}
    </section>
  )
}

const Evidence = ({ consent, asked }: { consent: Consent; asked: number }) => {
  const { askedAt, confirmedAt, wording, address } = consent
  return (
    <Values isCompact>
      <Fact name="Asked">
        <ExactTime at={askedAt} />
        <p class="hint">
          {describeAsked(consent)}
          {asked > 1 && `; ${asked} times in all`}.
        </p>
      </Fact>
      <Fact name="Confirmed">
        {confirmedAt === null ? (
          'Not yet'
        ) : (
          <>
            <ExactTime at={confirmedAt} />
            <p class="hint">With the link in the email.</p>
          </>
        )}
      </Fact>
      <Fact name="Wording">
        <code>{wording}</code>
      </Fact>
      {address !== null && (
        <Fact name="IP address">
          <code>{address}</code>
        </Fact>
      )}
    </Values>
  )
}
