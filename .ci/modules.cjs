/** Which module may import which. Enforced by `bun run check`. */

/** Each may import those after it, but `visits` and `events` are independent of each other. */
const DOMAIN = ['monitoring', 'mail', 'deliveries', 'messages', 'visits', 'events', 'people', 'accounts', 'store']
const below = (module) => DOMAIN.slice(DOMAIN.indexOf(module) + 1)

/** Every module of src, with the others that it may import. */
const IMPORTS = {
  core: [],
  ...Object.fromEntries(
    DOMAIN.map((module) => [
      module,
      ['core', ...below(module).filter((one) => module !== 'visits' || one !== 'events')],
    ]),
  ),
  http: ['core', 'accounts', 'store', 'assets'],
  ops: ['core'],
  backups: ['core', 'store'],
  config: ['core'],
  docs: ['core'],
  assets: [],
  writer: ['events', 'deliveries', 'store'],
  api: [...DOMAIN, 'core', 'http', 'assets', 'docs'],
  mcp: [...DOMAIN, 'core', 'http', 'docs'],
  dashboard: [...DOMAIN, 'core', 'http', 'assets', 'docs'],
  dependencies: [...DOMAIN, 'core', 'http'],
  server: [...DOMAIN, 'core', 'http', 'assets', 'ops', 'dependencies', 'api', 'mcp', 'dashboard'],
  cli: [...DOMAIN, 'core', 'assets', 'config', 'ops', 'backups', 'dependencies', 'server'],
  main: ['core', 'cli', 'config', 'store'],
}

const anyOf = (modules) => `^src/(${modules.join('|')})(/|\\.tsx?$)`
const only = ([module, others]) => ({
  name: `${module}-imports`,
  severity: 'error',
  comment: `${module} may import only ${others.join(', ') || 'nothing'} of src`,
  from: { path: anyOf([module]) },
  to: { path: '^src/', pathNot: anyOf([module, ...others]) },
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
    {
      name: 'known-modules',
      severity: 'error',
      comment: 'a file in no module would pass on what its importer may not have',
      from: { path: '^src/', pathNot: anyOf(Object.keys(IMPORTS)) },
      to: {},
    },
    ...Object.entries(IMPORTS).map(only),
    { name: 'no-tests-in-src', severity: 'error', from: { path: '^(src|snippet)/' }, to: { path: '^test/' } },
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
