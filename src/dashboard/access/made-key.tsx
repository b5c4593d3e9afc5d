/** @jsxImportSource preact */
import { environmentSample, SECRETS_WARNING } from '../../docs/samples.ts'
import { CodeBlock } from '../ui/code.tsx'
import { SecretOnce } from '../ui/secret.tsx'

export type Made = { apiKey: string; identitySecret: string }

/** Shows a new key, once, and the identity secret. */
export const MadeKey = ({ apiKey, identitySecret, next }: Made & { next?: string }) => (
  <SecretOnce
    secrets={[
      { id: 'api-key', name: 'API key', text: apiKey },
      { id: 'identity-secret', name: 'Identity secret', text: identitySecret },
    ]}
    warning="The API key is shown once, on this page; only a hash of it is kept. Reloading does not bring it back."
    next={next}
  >
    <p>{SECRETS_WARNING}</p>
    <CodeBlock id="environment" label="Environment of your server">
      {environmentSample(apiKey, identitySecret)}
    </CodeBlock>
  </SecretOnce>
)
