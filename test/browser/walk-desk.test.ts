import { testView } from './walking.ts'

testView('a desk', { viewport: { width: 1440, height: 900 } })
