/** What every page may use once scripts run; without them the same works by other means, or is not shown. */
import './copy.ts'
import './session.ts'
import './switcher.ts'
import './theme.ts'
import './typed.ts'
