import type { MessageContent } from './message-types.ts'
import type { AppRow, AppSettings, Refused, SnippetSettings } from './types.ts'
import type { Database } from 'bun:sqlite'
import { and, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { readLocale, readTimezone } from './local-time.ts'
import type { MessageWrites } from './message-writes.ts'
import { appHosts, appMailSettings, apps } from './schema.ts'
import { createSnippetWrites } from './snippet-writes.ts'

/** So many lifecycle emails a person may get a day, until the app's owner sets another limit. */
const FIRST_PER_PERSON_DAY = 1

/** Apps and what their owners set about them; an app of another account does not exist. */
export function createAppWrites({ db, messages }: { db: Database; messages: MessageWrites }) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { setSnippet } = createSnippetWrites(db)

  const findOwn = (accountId: string, appId: number) =>
    orm
      .select({ publicId: apps.publicId })
      .from(apps)
      .where(and(eq(apps.id, appId), eq(apps.accountId, accountId)))
      .get()

  const places = db.prepare<{ timezone: string | null; locale: string | null }, [number]>(
    'SELECT timezone, locale FROM app_mail_settings WHERE app_id = ?',
  )

  const addHosts = (appId: number, hosts: string[]): void => {
    for (const host of hosts) orm.insert(appHosts).values({ appId, host }).onConflictDoNothing().run()
  }

  const addApp = ({ accountId, actor, at }: Change, app: NewApp): void => {
    const largest = orm
      .select({ id: sql<number>`ifnull(max(${apps.id}), 0)` })
      .from(apps)
      .get()
    const { hosts, snippet, messages: drafts = [], ...row } = app
    const id = (largest?.id ?? 0) + 1
    orm
      .insert(apps)
      .values({ ...row, id, accountId, createdAt: at })
      .run()
    addHosts(id, hosts)
    if (snippet) setSnippet(id, snippet)
    orm.insert(appMailSettings).values({ appId: id, perPersonDay: FIRST_PER_PERSON_DAY }).run()
    messages.saveMessages({
      accountId,
      appId: id,
      actor,
      at,
      drafts: drafts.map((draft) => ({
        ...draft,
        id: null,
        status: null,
      })),
    })
  }

  return {
    addApp,
    writes: {
      createApp({ app, ...change }: Change & { app: NewApp }): Done {
        addApp(change, app)
        audit(change, 'app.create', app.publicId)
        return DONE
      },

      /** All that an app's owner can set, together. */
      updateApp({ appId, settings, ...change }: Change & { appId: number; settings: AppSettings }): Done | Refused {
        const app = findOwn(change.accountId, appId)
        if (!app) return { refusal: 'app_not_found' }
        const { name, homeUrl, hosts, timezone, locale, snippet } = settings
        orm.update(apps).set({ name, homeUrl }).where(eq(apps.id, appId)).run()
        orm.delete(appHosts).where(eq(appHosts.appId, appId)).run()
        addHosts(appId, hosts)
        setSnippet(appId, snippet)
        const place = places.get(appId)
        const changed = {
          ...(timezone === readTimezone(place?.timezone) ? {} : { timezone }),
          ...(locale === readLocale(place?.locale) ? {} : { locale }),
        }
        messages.setMailSettings({ ...change, appId, settings: changed })
        audit(change, 'app.update', app.publicId)
        return DONE
      },

      /** What the browser script may do. */
      setSnippet({
        appId,
        settings,
        ...change
      }: Change & { appId: number; settings: SnippetSettings }): Done | Refused {
        const app = findOwn(change.accountId, appId)
        if (!app) return { refusal: 'app_not_found' }
        setSnippet(appId, settings)
        audit(change, 'snippet.set', app.publicId)
        return DONE
      },
    },
  }
}

export type NewApp = Pick<AppRow, 'publicId' | 'siteId' | 'name' | 'homeUrl' | 'hosts'> & {
  snippet?: SnippetSettings
  /** what it begins with, as drafts */
  messages?: { name: string; content: MessageContent }[]
}
