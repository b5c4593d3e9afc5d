// What runs in the browser on every signed-in page of the demo: the banner, the sign-out, and the single-page part.

// The banner's answer is the customer's to keep. Eventpost is told on every page load.
const banner = document.querySelector('#banner')
const answer = localStorage.getItem('consent')

banner.hidden = answer !== null
if (answer !== null) service('consent', answer === 'yes')

banner.addEventListener('click', ({ target }) => {
  if (target.tagName !== 'BUTTON') return
  localStorage.setItem('consent', target.value)
  service('consent', target.value === 'yes')
  banner.hidden = true
})

document.querySelector('#ask-again')?.addEventListener('click', () => {
  service('consent', false)
  localStorage.removeItem('consent')
  location.reload()
})

// On a shared computer the next person begins anew.
document.querySelector('#sign-out').addEventListener('submit', () => service('reset'))

// The single-page part. Nothing here is for Eventpost, which sees the path change by itself.
const sections = document.querySelectorAll('[data-view]')

function showView() {
  for (const section of sections) section.hidden = section.dataset.view !== location.pathname
}

document.querySelector('#views')?.addEventListener('click', (event) => {
  if (event.target.tagName !== 'A') return
  event.preventDefault()
  history.pushState(null, '', event.target.href)
  showView()
})
addEventListener('popstate', showView)
showView()

// A job on the server. It tells Eventpost itself when the results are ready, whether or not this page is still open.
document.querySelector('#make')?.addEventListener('click', async () => {
  service('track', 'pictures_started')
  const made = document.querySelector('#made')
  made.textContent = 'Working...'
  const { path } = await (await fetch('/jobs', { method: 'POST' })).json()
  made.innerHTML = 'Your pictures are ready: <a></a>'
  Object.assign(made.querySelector('a'), { href: path, textContent: 'see them' })
})
