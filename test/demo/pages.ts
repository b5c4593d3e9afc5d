/** The pages of the demo. The layout of every signed-in page holds the tag, and says who is signed in. */
import type { User } from './eventpost.ts'

/** What the layout of a signed-in page needs: the tag as it was pasted, and the user with their proof. */
export type SignedIn = { tag: string; user: User; signature: string }

/** JSON for a script in a page: a `<` in it can end nothing. */
const toScript = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

const layOut = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${Bun.escapeHTML(title)} - Picture Studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
${head}
</head>
<body>
${body}
</body>
</html>`

const signedInPage = (title: string, { tag, user, signature }: SignedIn, main: string): string =>
  layOut(
    title,
    `${tag}
<script>service('identify', ${toScript({ email: user.email, signature })})</script>
<script defer src="/demo.js"></script>`,
    `<header>
<strong>Picture Studio</strong>
<nav><a href="/home">Home</a> <a href="/studio/pictures">Studio</a> <a href="/settings">Settings</a></nav>
<form id="sign-out" method="post" action="/sign-out"><button>Sign out</button></form>
</header>
<main>
<h1>${Bun.escapeHTML(title)}</h1>
${main}
</main>
<aside id="banner" hidden>
<p>May we remember which pages you open, to write you only when it helps?</p>
<button value="yes">Yes</button> <button value="no">No</button>
</aside>`,
  )

export const signInPage = (): string =>
  layOut(
    'Sign in',
    '',
    `<main>
<h1>Picture Studio</h1>
<p>A customer's site. Nobody is signed in, so there is no tag on this page.</p>
<form method="post" action="/sign-in">
<label>Email <input name="email" type="email" required autocomplete="email"></label>
<label>First name <input name="firstName" autocomplete="given-name"></label>
<button>Sign in</button>
</form>
</main>`,
  )

export const homePage = (signedIn: SignedIn): string =>
  signedInPage(
    `Hello, ${signedIn.user.firstName || signedIn.user.email}`,
    signedIn,
    `<p>Open a few pages, then <a href="/studio/pictures">make pictures in the studio</a>.</p>`,
  )

export const settingsPage = (signedIn: SignedIn): string =>
  signedInPage(
    'Settings',
    signedIn,
    `<p>You are signed in as ${Bun.escapeHTML(signedIn.user.email)}.</p>
<button id="ask-again">Ask me about consent again</button>`,
  )

/** The single-page part: its views change the path without loading a page. */
export const studioPage = (signedIn: SignedIn): string =>
  signedInPage(
    'Studio',
    signedIn,
    `<nav id="views">
<a href="/studio/pictures">Pictures</a> <a href="/studio/styles">Styles</a> <a href="/studio/make">Make</a>
</nav>
<section data-view="/studio/pictures"><p>No pictures yet. Choose a style, then make some.</p></section>
<section data-view="/studio/styles"><p>Oil, pencil, or as it is.</p></section>
<section data-view="/studio/make">
<p>This takes a few seconds. You may close the page meanwhile.</p>
<button id="make">Make 12 pictures</button>
<p id="made" role="status"></p>
</section>`,
  )

export const resultPage = (signedIn: SignedIn, headline: string): string =>
  signedInPage('Your pictures', signedIn, `<p>${Bun.escapeHTML(headline)}</p>`)

export const missingPage = (): string => layOut('Not found', '', '<main><h1>Page not found</h1></main>')
