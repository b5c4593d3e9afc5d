/** Which module may import which. Enforced by `bun run check`. */

/** Each may import those after it, but `visits` and `events` are independent of each other. */
const DOMAIN = ['mail', 'deliveries', 'messages', 'visits', 'events', 'people', 'accounts', 'store']
const below = (module) => DOMAIN.slice(DOMAIN.indexOf(module) + 1)

const anyOf = (names) => `^src/(${names.join('|')})(/|\\.tsx?$)`
const only = (from, names) => ({
  name: `${from}-imports`,
  severity: 'error',
  comment: `${from} may import only ${names.join(', ') || 'nothing'} of src`,
  from: { path: anyOf([from]) },
  to: { path: '^src/', pathNot: anyOf([from, ...names]) },
})

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true, pathNot: '^bun(:|$)' },
    },
    only('core', []),
    ...DOMAIN.map((module) =>
      only(module, ['core', ...below(module).filter((one) => module !== 'visits' || one !== 'events')]),
    ),
    only('http', ['core', 'accounts', 'store']),
    only('ops', ['core']),
    only('config', ['core']),
    only('docs', []),
    only('assets', []),
    only('writer', ['events', 'deliveries', 'store']),
    only('api', [...DOMAIN, 'core', 'http', 'assets', 'docs']),
    only('mcp', [...DOMAIN, 'core', 'http', 'docs']),
    only('dashboard', [...DOMAIN, 'core', 'http', 'assets', 'docs']),
    only('dependencies', [...DOMAIN, 'core', 'http']),
    only('server', [...DOMAIN, 'core', 'http', 'assets', 'ops', 'dependencies', 'api', 'mcp', 'dashboard']),
    only('cli', [...DOMAIN, 'core', 'assets', 'config', 'ops', 'dependencies', 'server']),
    {
      name: 'sql-only-in-store',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/' },
      to: { path: '^(bun:sqlite$|.*drizzle-orm)' },
    },
    { name: 'snippet-imports-nothing', severity: 'error', from: { path: '^snippet/' }, to: {} },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['bun', 'import', 'require', 'node', 'default'],
    },
    exclude: { path: '^src/docs/samples/|\\.(md|css|sql|json|d\\.ts)$' },
  },
}
