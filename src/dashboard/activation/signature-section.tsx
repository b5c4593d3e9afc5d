/** @jsxImportSource preact */
import { HOUR_MS } from '../../core/clock.ts'
import { PREVIOUS_SECRET_VALID_MS } from '../../accounts/identity.ts'
import type { SignatureVerdict } from '../../visits/signature-check.ts'
import { pathOf } from '../layout/frame.tsx'
import { Folding } from '../ui/folding.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice, type NoticeKind } from '../ui/notice.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type Checked = { email: string; signature: string; verdict: SignatureVerdict }

const HOURS = PREVIOUS_SECRET_VALID_MS / HOUR_MS

const VERDICTS: Record<SignatureVerdict, [kind: NoticeKind, text: string]> = {
  current: ['done', 'It matches the current identity secret.'],
  previous: [
    'caution',
    `It matches the previous identity secret, which is accepted for ${HOURS} hours after the rotation. Set SERVICE_IDENTITY_SECRET to the new one on the server that made the signature.`,
  ],
  expired: [
    'error',
    `It matches a previous identity secret, which stopped working ${HOURS} hours after its rotation. Set SERVICE_IDENTITY_SECRET to the new one.`,
  ],
  uppercase: ['error', 'It matches but is uppercase, so it is refused. Send lowercase hexadecimal.'],
  unfolded: ['error', 'It was made from the email as typed. Trim and lowercase the email before your server signs it.'],
  malformed: ['error', 'This is not a signature. Signatures have 64 characters: digits and the letters a to f.'],
  wrong: ['error', "It doesn't match. It was made for a different email or with a different secret."],
}

type SectionProps = { viewer: Viewer; checked?: Checked; isFolded: boolean }

/** Checks a pasted email and signature as the service does. */
export const SignatureSection = ({ viewer, checked, isFolded }: SectionProps) => (
  <Folding id="check" title="Check a signature" isFolded={isFolded} isOpen={checked !== undefined}>
    <p>Paste the values your page passes to identify. Nothing is stored.</p>
    {checked && <Verdict {...checked} />}
    <Form action={`${pathOf(viewer.app.publicId, 'activation')}/signature#check`} submit="Check" kind="plain">
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
