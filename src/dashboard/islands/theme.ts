/// <reference lib="dom" />

/** Changes the colours at once and keeps the page as it is, with what was typed into it. */
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
