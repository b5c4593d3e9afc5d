/** @jsxImportSource preact */
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { factsOf } from '../../http/request-facts.ts'
import { pageAnswer } from './answers.ts'
import { Layout } from './layout.tsx'
import { missingAnswer } from './missing-page.tsx'
import { peekViewer } from './require-member.tsx'
import type { PageDependencies } from './viewer.ts'
import { pageAbove } from './forms.ts'

/** Texts that replace those for programs. */
const LABELS: Partial<Record<RefusalCode, { title: string; lead?: string }>> = {
  not_found: { title: 'Page not found', lead: 'There is no page at this address.' },
  method_not_allowed: {
    title: 'Nothing to show here',
    lead: 'This address only accepts form submissions. Nothing was sent again.',
  },
  internal_error: { title: 'Something went wrong' },
}

const WayOut = ({ refusal, path }: { refusal: RefusalCode; path: string }) =>
  refusal === 'method_not_allowed' && pageAbove(path) !== '/' ? (
    <p>
      Go to <a href={pageAbove(path)}>the form</a>.
    </p>
  ) : (
    <p>
      Go to <a href="/">the dashboard</a>.
    </p>
  )

/** An unknown address inside an app keeps its frame. */
export const createRefusalPage =
  (deps: Omit<PageDependencies, 'signIns'>) =>
  async (request: Request, refusal: RefusalCode): Promise<Response> => {
    const [, appId] = /^\/apps\/([^/]+)\//.exec(new URL(request.url).pathname) ?? []
    const isMissing = refusal === 'not_found' && appId !== undefined
    const viewer = isMissing ? await peekViewer(deps, request, appId) : null
    return viewer ? missingAnswer(request, viewer, 'page_unknown') : refusalPage(request, refusal)
  }

export function refusalPage(request: Request, refusal: RefusalCode): Response {
  const { status, message } = REFUSALS[refusal]
  const { title, lead = message } = LABELS[refusal] ?? { title: "This didn't work" }
  const { requestId } = factsOf(request)
  return pageAnswer(
    request,
    status,
    <Layout title={title} lead={lead}>
      {status === 500 ? (
        <p>
          Request ID: <code>{requestId}</code>
        </p>
      ) : (
        <WayOut refusal={refusal} path={new URL(request.url).pathname} />
      )}
    </Layout>,
  )
}
