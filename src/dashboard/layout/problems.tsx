/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { pageAnswer } from './answers.ts'
import type { GuardRefusal } from './guard.ts'
import { Layout } from './layout.tsx'
import { ButtonLink } from '../ui/button.tsx'

type Problem = { status: number; title: string; lead: ComponentChildren; remedy?: ComponentChildren }

export type ProblemCode =
  | GuardRefusal
  | 'unsupported_form'
  | 'large_form'
  | 'link_used'
  | 'setup_link_unknown'
  | 'password_link_unknown'
  | 'page_unknown'
  | 'doc_unknown'
  | 'event_unknown'
  | 'request_unknown'
  | 'person_unknown'
  | 'message_unknown'
  | 'message_deleted'
  | 'version_unknown'
  | 'topic_unknown'
  | 'delivery_unknown'
  | 'role_too_low'
  | 'not_operator'
  | 'done_before'

export const TO_START = (
  <p>
    Go to <a href="/">the dashboard</a>.
  </p>
)

export const PROBLEMS: Record<ProblemCode, Problem> = {
  unknown_host: {
    status: 403,
    title: 'Unknown address',
    lead: "Eventpost isn't set up for this address.",
    remedy: (
      <p>
        Use the address printed in the server's terminal. If this one is right, start the server with it:{' '}
        <code>--base-url https://post.example.com</code>.
      </p>
    ),
  },
  foreign_origin: {
    status: 403,
    title: 'This form came from another site',
    lead: 'Nothing was changed.',
    remedy: <p>Open the page with the form again in this browser, and send the form from there.</p>,
  },
  missing_origin: {
    status: 403,
    title: 'The origin of this form is unknown',
    lead: 'Nothing was changed: the form came without an Origin or Sec-Fetch-Site header.',
    remedy: (
      <p>
        Browsers send one of them with every form. If you use a browser, a proxy is probably removing them: configure it
        to forward both. Programs use the <a href="/docs/api">API</a> instead.
      </p>
    ),
  },
  unsupported_form: {
    status: 415,
    title: "Eventpost can't read this form",
    lead: 'Nothing was changed.',
    remedy: <p>Open the page with the form again, and send the form from there.</p>,
  },
  large_form: {
    status: 413,
    title: 'This form is too large',
    lead: 'Nothing was changed.',
    remedy: <p>Go back and shorten your input.</p>,
  },
  link_used: {
    status: 409,
    title: 'This link has been used',
    lead: 'Eventpost is already set up. The setup link works once. The API key was shown right after setup.',
    remedy: (
      <>
        <p>If nobody stored the key, create a new one under API keys. The identity secret is shown with it.</p>
        <p class="next">
          <ButtonLink kind="primary" href="/">
            Open the dashboard
          </ButtonLink>
        </p>
      </>
    ),
  },
  setup_link_unknown: {
    status: 404,
    title: 'This link does not work',
    lead: 'Only the newest setup link works, for one day.',
    remedy: (
      <p>
        Open the complete link again in a browser with cookies enabled. If it still fails, restart the server to print a
        new link.
      </p>
    ),
  },
  page_unknown: {
    status: 404,
    title: 'Page not found',
    lead: 'Your account has no page at this address.',
    remedy: TO_START,
  },
  doc_unknown: {
    status: 404,
    title: 'Page not found',
    lead: 'The documentation has no page at this address.',
    remedy: (
      <p>
        Go to <a href="/docs">the documentation</a>.
      </p>
    ),
  },
  event_unknown: {
    status: 404,
    title: 'Event not found',
    lead: 'This app has no event with this ID. It may have been deleted because of its age, or erased with its person.',
    remedy: TO_START,
  },
  request_unknown: {
    status: 404,
    title: 'Request not found',
    lead: 'The log has no request with this ID. It has only recent requests, and only a sample of accepted ones.',
    remedy: TO_START,
  },
  person_unknown: {
    status: 404,
    title: 'Person not found',
    lead: 'This app has no person with this ID. They may have been erased.',
    remedy: TO_START,
  },
  message_unknown: {
    status: 404,
    title: 'Message not found',
    lead: 'This app has no message with this ID.',
    remedy: TO_START,
  },
  message_deleted: {
    status: 404,
    title: 'Message deleted',
    lead: 'This message was deleted, with all its versions.',
    remedy: TO_START,
  },
  topic_unknown: {
    status: 404,
    title: 'Topic not found',
    lead: 'This app has no topic with this ID. It may have been deleted.',
    remedy: TO_START,
  },
  version_unknown: {
    status: 404,
    title: 'Version not found',
    lead: 'This message has no version with this number.',
    remedy: TO_START,
  },
  delivery_unknown: {
    status: 404,
    title: 'Delivery not found',
    lead: 'This app has no delivery with this ID. It may have been erased with its person.',
    remedy: TO_START,
  },
  role_too_low: {
    status: 403,
    title: "Your role doesn't allow this",
    lead: 'Nothing was changed.',
    remedy: <p>Ask an owner of the account to do it, or to give you another role.</p>,
  },
  not_operator: {
    status: 403,
    title: "Your role doesn't allow this",
    lead: 'Only owners of the first account see the state of the installation.',
    remedy: <p>Ask whoever operates this installation.</p>,
  },
  done_before: {
    status: 409,
    title: 'Already done',
    lead: 'The form was sent twice, but applied only once. Its result is shown only once.',
    remedy: TO_START,
  },
  password_link_unknown: {
    status: 404,
    title: 'This link does not work',
    lead: 'Links to join an account or set a password work once and expire after a day. After you open one, you have an hour to set a password.',
    remedy: (
      <p>
        Open the complete link again in a browser with cookies enabled. If you used it before,{' '}
        <a href="/sign-in">sign in</a>. Otherwise, ask whoever sent it for a new one.
      </p>
    ),
  },
}

const ProblemPage = ({ title, lead, remedy }: Problem) => (
  <Layout title={title} lead={lead}>
    {remedy}
  </Layout>
)

/** After a reload of the page that showed the key. */
export const keyCreatedAnswer = (request: Request, keysPath: string): Response => {
  const remedy = (
    <p>
      <a href={keysPath}>Back to API keys</a>
    </p>
  )
  const lead = 'The key was already created and is shown only once.'
  return pageAnswer(request, 409, <ProblemPage status={409} title="Already done" lead={lead} remedy={remedy} />)
}

export const problemAnswer = (request: Request, code: ProblemCode): Response =>
  pageAnswer(request, PROBLEMS[code].status, <ProblemPage {...PROBLEMS[code]} />)
