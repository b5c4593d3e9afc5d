import { knip } from '../package.json'

/** Refuses what only tests use. A test may import what is private to a file otherwise. */
export default { ...knip, ignoreExportsUsedInFile: true }
