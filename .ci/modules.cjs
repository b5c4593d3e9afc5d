/** Which module may import which; `bun run check` enforces it. Each may import those after it in its list. */
const DOMAIN = ['mail', 'deliveries', 'messages', 'visits', 'events', 'people', 'accounts', 'core', 'store']

const anyOf = (names) => `^src/(${names.join('|')})(/|\\.tsx?$)`
/** What `from` may import of the modules in src besides itself. */
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
    ...DOMAIN.map((module, place) => only(module, DOMAIN.slice(place + 1))),
    only('http', ['accounts', 'core', 'store']),
    only('ops', ['core', 'store']),
    only('config', ['core']),
    only('docs', []),
    only('assets', []),
    only('writer', ['events', 'deliveries', 'store']),
    only('api', [...DOMAIN, 'http', 'assets', 'parts']),
    only('mcp', [...DOMAIN, 'http', 'docs', 'parts']),
    only('dashboard', [...DOMAIN, 'http', 'assets', 'docs', 'parts']),
    only('cli', [...DOMAIN, 'http', 'assets', 'config', 'ops', 'parts', 'server']),
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
    exclude: { path: '\\.(md|css|sql|json|d\\.ts)$' },
  },
}
