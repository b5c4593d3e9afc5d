/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { REFUSALS } from '../../core/refusals.ts'
import { downloadAnswer, pageAnswer } from '../layout/answers.ts'
import { type FormInput, toForm } from '../layout/forms.ts'
import { Frame, type PageName } from '../layout/frame.tsx'
import { missingAnswer } from '../layout/missing-page.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { ButtonLink } from '../ui/button.tsx'
import { SentText } from '../ui/text.tsx'
import { askForPassword } from './confirm.tsx'

/** `what` completes "export ...". `filters`: names of the active filters, without their values. */
export type Exported = {
  what: string
  filters?: string[]
  /** ID of the exported person */
  person?: string
  pieces: Parameters<typeof downloadAnswer>[0]
  file: Parameters<typeof downloadAnswer>[1]
}

type Params = Record<string, string>

type Rules = {
  page: PageName
  /** null if the person is unknown */
  find: (
    deps: PageDependencies,
    request: Request,
    asked: { viewer: Viewer; params: Params },
  ) => Exported | null | Promise<Exported | null>
}

/**
 * GET downloads a file of personal data and notes it in the audit log. If the password must be entered first, it shows
 * the form for it; POST answers that with a page that starts the download.
 */
export function exportRoutes(deps: PageDependencies, path: `/apps/:app/${string}`, rules: Rules) {
  const take = (_: PageDependencies, request: Request, form: FormInput, who: Sender) =>
    takeExport(deps, request, form, { ...who, ...rules })
  return new Elysia()
    .get(path, ({ request, params }: { request: Request; params: Params }) =>
      showPage(
        deps,
        request,
        params.app ?? '',
        (viewer, signedIn) => take(deps, request, toForm({}), { viewer, signedIn, params }),
        // a download would leave the browser on the sign-in page
        `/apps/${params.app}/${pageBehind(new URL(request.url))}`,
      ),
    )
    .post(path, onForm<string>(deps, { role: 'viewer' }, take), { parse: 'none' })
}

type Sender = Who & { params: Params }

async function takeExport(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer, signedIn, params, page, find }: Sender & Rules,
): Promise<Response> {
  const exported = await find(deps, request, { viewer, params })
  if (!exported) return missingAnswer(request, viewer, 'person_unknown')
  const url = new URL(request.url)
  const from = pageBehind(url)
  const show = (isStarted: boolean, cookies: string[]): Response =>
    pageAnswer(
      request,
      isStarted ? 200 : REFUSALS.unavailable.status,
      <ExportPage {...{ viewer, page, exported, from, isStarted }} href={url.pathname + url.search} />,
      cookies,
    )
  const isRecent = deps.sessions.isConfirmed(signedIn.session)
  const change = { to: `export ${exported.what}`, how: describeHow(exported), from }
  const asked = isRecent
    ? { cookies: [] }
    : await askForPassword(deps, request, form, { viewer, signedIn, page, ...change })
  if (asked instanceof Response) return asked
  // if the disk is full, the download would ask for the password again
  if (request.method === 'POST') return show(isRecent || asked.cookies.length > 0, asked.cookies)
  const by = { accountId: viewer.account.id, actor: viewer.member.id, at: deps.clock.now() }
  const noted = await deps.store.noteExport({ ...by, ...describeExport(exported, viewer) })
  return 'refusal' in noted ? show(false, []) : downloadAnswer(exported.pieces, exported.file)
}

/** The page of the list or the person, under the app. */
function pageBehind({ pathname, searchParams }: URL): string {
  const query = new URLSearchParams(searchParams)
  query.delete('format')
  const path = pathname.split('/').slice(3, -1).join('/')
  return query.size === 0 ? path : `${path}?${query}`
}

const LIST = new Intl.ListFormat('en')

function describeHow({ file, filters = [] }: Exported): string {
  const format = `as ${file.format.toUpperCase()}`
  return filters.length === 0 ? format : `${format}, filtered by ${LIST.format(new Set(filters))}`
}

/** For the audit log, which outlives the person, so it must not name the email. */
const describeExport = (exported: Exported, { app }: Viewer) =>
  exported.person === undefined
    ? ({
        action: 'data.export',
        subject: `${exported.what} from the app “${app.name}” ${describeHow(exported)}`,
      } as const)
    : ({ action: 'contact.export', subject: exported.person } as const)

const DATES = ['from', 'to', 'isUtc']

/** Filter names as words; all date filters share one. */
export const nameFilters = <Name extends string>(filters: Name[], labels: Record<Name, string>): string[] =>
  filters.map((name) => (DATES.includes(name) ? 'dates' : labels[name].toLowerCase()))

type ExportProps = Pick<Rules, 'page'> & {
  viewer: Viewer
  exported: Exported
  href: string
  from: string
  isStarted: boolean
}

const ExportPage = ({ viewer, page, exported, href, from, isStarted }: ExportProps) => (
  <Frame
    viewer={viewer}
    page={page}
    title={isStarted ? 'Your download has started' : 'Nothing was exported'}
    state={
      isStarted ? (
        <>
          You exported <SentText>{exported.what}</SentText> {describeHow(exported)}.
        </>
      ) : (
        "Every export is recorded in the audit log, but Eventpost can't save right now. Try again in a minute."
      )
    }
    opens={isStarted ? href : undefined}
  >
    <div class="buttons">
      <ButtonLink href={href}>{isStarted ? 'Download again' : 'Try again'}</ButtonLink>
      <ButtonLink href={`/apps/${viewer.app.publicId}/${from}`}>
        {exported.person === undefined ? 'Back to the list' : 'Back to the person'}
      </ButtonLink>
    </div>
  </Frame>
)
