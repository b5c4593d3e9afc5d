/// <reference lib="dom" />

/** Changes the theme without reloading, so that input is kept. */
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event
  if (!(form instanceof HTMLFormElement) || !form.matches('.themes') || !(submitter instanceof HTMLButtonElement))
    return
  event.preventDefault()
  document.documentElement.dataset.theme = submitter.value
  for (const button of form.querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === submitter))
  }
  const body = new URLSearchParams({ theme: submitter.value, to: '/' })
  void fetch(form.action, { method: 'POST', body, redirect: 'manual' })
})
