import { testView } from './walking.ts'

testView('a phone', { viewport: { width: 375, height: 800 }, hasTouch: true })
