import asvs from './asvs.md' with { type: 'text' }
import asvsV8 from './asvs-v8.md' with { type: 'text' }
import delivery from './delivery.md' with { type: 'text' }
import development from './development.md' with { type: 'text' }
import hosting from './hosting.md' with { type: 'text' }
import docker from './docker.md' with { type: 'text' }
import dockerProduction from './docker-production.md' with { type: 'text' }
import install from './install.md' with { type: 'text' }
import upgrades from './upgrades.md' with { type: 'text' }
import data from './data.md' with { type: 'text' }
import sessions from './sessions.md' with { type: 'text' }
import accounts from './accounts.md' with { type: 'text' }
import backups from './backups.md' with { type: 'text' }
import masterKey from './master-key.md' with { type: 'text' }
import releases from './releases.md' with { type: 'text' }
import failures from './failures.md' with { type: 'text' }
import orchestration from './orchestration.md' with { type: 'text' }
import postgresql from './postgresql.md' with { type: 'text' }
import benchmarks from './benchmarks.md' with { type: 'text' }
import move from './move.md' with { type: 'text' }
import replication from './replication.md' with { type: 'text' }
import scaleOut from './scale-out.md' with { type: 'text' }
import sizes from './sizes.md' with { type: 'text' }
import calls from './calls.md' with { type: 'text' }
import commands from './commands.md' with { type: 'text' }
import connections from './connections.md' with { type: 'text' }
import consent from './consent.md' with { type: 'text' }
import cryptography from './cryptography.md' with { type: 'text' }
import holdback from './holdback.md' with { type: 'text' }
import rules from './rules.md' with { type: 'text' }
import settings from './settings.md' with { type: 'text' }
import bounces from './bounces.md' with { type: 'text' }
import rates from './rates.md' with { type: 'text' }
import retries from './retries.md' with { type: 'text' }
import contacts from './contacts.md' with { type: 'text' }
import content from './content.md' with { type: 'text' }
import emails from './emails.md' with { type: 'text' }
import errors from './errors.md' with { type: 'text' }
import events from './events.md' with { type: 'text' }
import filters from './filters.md' with { type: 'text' }
import frequency from './frequency.md' with { type: 'text' }
import html from './html.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import languages from './languages.md' with { type: 'text' }
import layout from './layout.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import manage from './manage.md' with { type: 'text' }
import alerts from './alerts.md' with { type: 'text' }
import commandLine from './command-line.md' with { type: 'text' }
import monitoring from './monitoring.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import optIn from './opt-in.md' with { type: 'text' }
import privacy from './privacy.md' with { type: 'text' }
import retention from './retention.md' with { type: 'text' }
import requests from './requests.md' with { type: 'text' }
import restore from './restore.md' with { type: 'text' }
import results from './results.md' with { type: 'text' }
import script from './script.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import providers from './providers.md' with { type: 'text' }
import senders from './senders.md' with { type: 'text' }
import ses from './ses.md' with { type: 'text' }
import sends from './sends.md' with { type: 'text' }
import sending from './sending.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import states from './states.md' with { type: 'text' }
import texts from './texts.md' with { type: 'text' }
import threats from './threats.md' with { type: 'text' }
import tools from './tools.md' with { type: 'text' }
import topics from './topics.md' with { type: 'text' }
import conditions from './conditions.md' with { type: 'text' }
import domains from './domains.md' with { type: 'text' }
import vulnerabilities from './vulnerabilities.md' with { type: 'text' }
import triggers from './triggers.md' with { type: 'text' }
import { type DocPage, toPage } from './page.ts'
import { PAGE_SAMPLES } from './samples.ts'

export { type DocPage, writeDocPage } from './page.ts'

const toPages = (sources: Record<string, string>): DocPage[] =>
  Object.entries(sources).map(([slug, source]) => toPage(slug, source, PAGE_SAMPLES))

/** In reading order. */
export const DOC_GROUPS: readonly { name: string; pages: DocPage[] }[] = [
  {
    name: 'Guides',
    pages: toPages({
      start,
      events,
      retries,
      contacts,
      'opt-in': optIn,
      sends,
      manage,
      snippet,
      calls,
      script,
      consent,
      privacy,
      retention,
      connections,
      mcp,
      tools,
    }),
  },
  {
    name: 'Messages',
    pages: toPages({
      messages,
      emails,
      triggers,
      conditions,
      rules,
      frequency,
      content,
      filters,
      layout,
      html,
      languages,
      texts,
      topics,
      results,
      holdback,
      sending,
      delivery,
      states,
      bounces,
      rates,
      senders,
      domains,
      providers,
      ses,
    }),
  },
  {
    name: 'Operation',
    pages: toPages({
      install,
      docker,
      'docker-production': dockerProduction,
      hosting,
      settings,
      'command-line': commandLine,
      backups,
      restore,
      replication,
      'master-key': masterKey,
      upgrades,
      'scale-out': scaleOut,
      postgresql,
      move,
      orchestration,
      failures,
      sizes,
      monitoring,
      alerts,
      accounts,
      limits,
      errors,
      requests,
      http,
      security,
      threats,
      vulnerabilities,
      sessions,
      data,
      cryptography,
      asvs,
      'asvs-v8': asvsV8,
      development,
      commands,
      benchmarks,
      releases,
    }),
  },
]

export const DOC_PAGES: readonly DocPage[] = DOC_GROUPS.flatMap(({ pages }) => pages)
