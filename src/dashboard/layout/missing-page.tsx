/** @jsxImportSource preact */
import { pageAnswer } from './answers.ts'
import { Frame, isListedPage, nameOfPage, pathOf } from './frame.tsx'
import { type ProblemCode, PROBLEMS, TO_START } from './problems.tsx'
import { ButtonLink } from '../ui/button.tsx'
import type { Viewer } from './viewer.ts'

/** Pages that are tabs of others. */
const TABS: ReadonlyMap<string, string> = new Map([
  ['outbox', 'deliveries'],
  ['suppressions', 'deliveries'],
  ['audit', 'members'],
])

/** Inside an app, the page links to the list of that kind, unless the viewer may not see it. */
export function missingAnswer(request: Request, viewer: Viewer, code: ProblemCode): Response {
  const { status, title, lead, remedy } = PROBLEMS[code]
  const [, , , opened = ''] = new URL(request.url).pathname.split('/')
  const section = TABS.get(opened) ?? opened
  const isOpen = isListedPage(section) && (section !== 'system' || viewer.isOperator)
  const [page, list] = isOpen
    ? [section, section]
    : (['unknown', viewer.isActivated ? 'overview' : 'activation'] as const)
  return pageAnswer(
    request,
    status,
    <Frame viewer={{ ...viewer, flash: null }} page={page} title={title} state={lead}>
      {remedy !== TO_START && remedy}
      <p class="next">
        <ButtonLink href={pathOf(viewer.app.publicId, list)}>{`Open ${nameOfPage(list)}`}</ButtonLink>
      </p>
    </Frame>,
  )
}
