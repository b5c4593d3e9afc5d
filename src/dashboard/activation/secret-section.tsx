/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import type { Noted } from '../../events/activation.ts'
import { PREVIOUS_SECRET_VALID_MS, type SecretRow } from '../../accounts/identity.ts'
import { pathOf } from '../layout/frame.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ExactTime, PlannedTime, Time } from '../ui/time.tsx'
import { Fact, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'

type SecretProps = {
  viewer: Viewer
  secrets: SecretRow[]
  oldSecretUse: Noted | null
  isOwner: boolean
  now: number
}

/** Shows when the identity secret and its predecessors expire, never their text. */
export function SecretSection({ viewer, secrets, oldSecretUse, isOwner, now }: SecretProps) {
  const current = secrets.find(({ retiredAt }) => retiredAt === null)
  const previous = secrets.filter(({ retiredAt }) => retiredAt !== null)
  return (
    <section>
      <h2>Identity secret</h2>
      <p>
        Your server signs each signed-in person's email with it, so nobody can report page views as someone else. It's
        shown when you rotate it, and with every new key.
      </p>
      <Values>
        {current && (
          <Fact name="Current">
            <span>
              Created <Time at={current.createdAt} now={now} />
            </span>
          </Fact>
        )}
        {previous.map(({ id, retiredAt }) => (
          <Fact key={id} name="Previous">
            <span>
              Works until <ExactTime at={(retiredAt ?? 0) + PREVIOUS_SECRET_VALID_MS} /> (
              <PlannedTime at={(retiredAt ?? 0) + PREVIOUS_SECRET_VALID_MS} now={now} />)
            </span>
          </Fact>
        ))}
        {previous.length > 0 && (
          <Fact name="Previous secret">
            <span>
              <OldUse use={oldSecretUse} now={now} />
            </span>
          </Fact>
        )}
      </Values>
      {isOwner && current && (
        <div class="buttons">
          <RotateDialog path={pathOf(viewer.app.publicId, 'keys')} currentId={current.id} />
          {previous.length > 0 && (
            <RevokeOldDialog path={pathOf(viewer.app.publicId, 'keys')} count={previous.length} />
          )}
        </div>
      )}
    </section>
  )
}

const OldUse = ({ use, now }: { use: Noted | null; now: number }) =>
  use === null ? (
    <>Not used since the rotation.</>
  ) : (
    <>
      {use.count === 1 ? '1 signature' : `${formatCount(use.count)} signatures`} since the rotation, the last{' '}
      <Time at={use.lastAt} now={now} />
      {use.origin !== null && ` from ${use.origin}`}.
    </>
  )

const RotateDialog = ({ path, currentId }: { path: string; currentId: string }) => (
  <Dialog id="rotate" opener="Rotate" about="the identity secret" title="Rotate the identity secret?">
    <p>
      The new secret is shown next, and again with every new key. The previous one keeps working for 24 hours, so you
      can update your servers.
    </p>
    <ActionForm action={`${path}/secret`} fields={{ replaces: currentId }} kind="primary">
      Rotate
    </ActionForm>
  </Dialog>
)

/** After two rotations within 24 hours, both previous secrets expire together. */
const RevokeOldDialog = ({ path, count }: { path: string; count: number }) => (
  <Dialog
    id="revoke-previous"
    opener={count === 1 ? 'Revoke the previous secret' : 'Revoke all previous secrets'}
    kind="danger"
    title={count === 1 ? 'Revoke the previous identity secret?' : 'Revoke all previous identity secrets?'}
  >
    <p>
      Signatures made with {count === 1 ? 'it' : 'them'} will be refused. Do this if {count === 1 ? 'it' : 'one'}{' '}
      leaked, or once every server has the new one.
    </p>
    <ActionForm action={`${path}/secret/revoke`} kind="danger">
      Revoke {count === 1 ? 'it' : 'them'} now
    </ActionForm>
  </Dialog>
)
