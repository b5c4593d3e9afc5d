/// <reference lib="dom" />
/** Shows the value under the pointer, from the chart's table. */
function follow(figure: HTMLElement): void {
  const hide = (): void => {
    figure.querySelector('.cursor')?.classList.remove('shown')
    const output = figure.querySelector<HTMLElement>('[data-chart-value]')
    if (output?.dataset.peak === undefined) return
    output.textContent = output.dataset.peak
    delete output.dataset.peak
  }
  figure.addEventListener('pointerleave', hide)
  figure.addEventListener('pointermove', ({ target, clientX }) => {
    const drawing = figure.querySelector<SVGElement>('.drawing')
    const output = figure.querySelector<HTMLElement>('[data-chart-value]')
    if (!drawing || !output || !(target instanceof Element) || !target.closest('.plot')) return hide()
    const rows = figure.querySelectorAll('tbody tr')
    const { left, width } = drawing.getBoundingClientRect()
    const last = rows.length - 1
    const index = Math.min(last, Math.max(0, Math.round(((clientX - left) / width) * last)))
    const value = rows[index]?.querySelector('data')
    if (!value) return
    output.dataset.peak ??= output.textContent
    output.textContent = `${rows[index]?.querySelector('th')?.textContent}: ${value.textContent}`
    point(drawing, { share: last === 0 ? 0 : index / last, height: Number(value.value) / Number(drawing.dataset.top) })
  })
}

const percent = (share: number): string => `${(share * 100).toFixed(2)}%`

function point(drawing: SVGElement, { share, height }: { share: number; height: number }): void {
  const [line, dot] = [drawing.querySelector('.cursor > line'), drawing.querySelector('.cursor > circle')]
  for (const name of ['x1', 'x2']) line?.setAttribute(name, percent(share))
  dot?.setAttribute('cx', percent(share))
  dot?.setAttribute('cy', percent(1 - height))
  drawing.querySelector('.cursor')?.classList.add('shown')
}

for (const figure of document.querySelectorAll<HTMLElement>('.area-chart')) follow(figure)
