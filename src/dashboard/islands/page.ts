/** Scripts of every page; the pages also work without them. */
import './copy.ts'
import './session.ts'
import './switcher.ts'
import './theme.ts'
import './typed.ts'
