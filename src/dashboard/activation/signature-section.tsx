/** @jsxImportSource preact */
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import type { SignatureVerdict } from '../../visits/signature-check.ts'
import { pathOf } from '../layout/frame.tsx'
import { Folding } from '../ui/folding.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice, type NoticeKind } from '../ui/notice.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type Checked = { email: string; signature: string; verdict: SignatureVerdict }

const HOURS = PREVIOUS_SECRET_VALID_MS / 3_600_000

const VERDICTS: Record<SignatureVerdict, [kind: NoticeKind, text: string]> = {
  current: ['done', 'It matches the current identity secret.'],
  previous: [
    'caution',
    `It matches the previous identity secret. Accepted for ${HOURS} hours after the rotation. Put the new one into SERVICE_IDENTITY_SECRET on the server that signed it.`,
  ],
  expired: [
    'error',
    `It matches a previous identity secret, which stopped working ${HOURS} hours after its rotation. Put the new one into SERVICE_IDENTITY_SECRET.`,
  ],
  uppercase: ['error', 'It matches, but it is in uppercase, and is refused. Send it as lowercase hexadecimal.'],
  unfolded: [
    'error',
    'It signs the email as it was typed. Trim the email and make it lowercase before your server signs it.',
  ],
  malformed: ['error', 'It is no signature: that is 64 characters, digits and the letters a to f.'],
  wrong: ['error', 'It does not match. It signs another email, or was made with another secret.'],
}

type SectionProps = { viewer: Viewer; checked?: Checked; isFolded: boolean }

/** Checks a pasted email and signature as the service does. */
export const SignatureSection = ({ viewer, checked, isFolded }: SectionProps) => (
  <Folding id="check" title="Check a signature" isFolded={isFolded} isOpen={checked !== undefined}>
    <p>Paste what your page gives to identify. Nothing is stored.</p>
    {checked && <Verdict {...checked} />}
    <Form action={`${pathOf(viewer.app.publicId, 'activation')}/signature#check`} submit="Check it" kind="plain">
      <Field name="email" label="Email" kind="email" value={checked?.email} autocomplete="off" />
      <Field name="signature" label="Signature" value={checked?.signature} autocomplete="off" />
    </Form>
  </Folding>
)

const Verdict = ({ verdict }: Checked) => {
  const [kind, text] = VERDICTS[verdict]
  return (
    <div role="status">
      <Notice kind={kind}>{text}</Notice>
    </div>
  )
}
