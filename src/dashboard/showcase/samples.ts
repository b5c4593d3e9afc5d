/** Text that somebody could send, to see that no part breaks. */
export const LONG =
  'A name that somebody pasted from elsewhere and that goes on and on, with-a-part-that-no-line-can-break-because-it-holds-no-space-at-all'

export const DAY = 86_400_000

export const SAMPLE_MAIL = `<!doctype html><html lang="en"><head><title>Your 12 pictures are ready.</title></head>
<body style="margin:24px;font:16px/1.5 sans-serif"><p>Hello Ada,</p><p>your 12 pictures are ready. ${LONG}</p></body></html>`
