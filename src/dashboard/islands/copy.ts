/// <reference lib="dom" />

const SHOWN_MS = 2_000

async function copy(button: HTMLButtonElement): Promise<void> {
  const source = document.getElementById(button.dataset.copy ?? '')
  const word = button.querySelector('[aria-live]')
  if (!source || !word) return
  try {
    await navigator.clipboard.writeText(source.textContent)
    word.textContent = 'Copied'
  } catch {
    // no clipboard over plain http: select the text instead
    getSelection()?.selectAllChildren(source)
    word.textContent = 'Selected'
  }
  setTimeout(() => (word.textContent = 'Copy'), SHOWN_MS)
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('button[data-copy]') : null
  if (button instanceof HTMLButtonElement) void copy(button)
})
