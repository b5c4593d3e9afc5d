/** Markdown tables. */

const cellText = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

export const row = (cells: string[]): string => `| ${cells.map(cellText).join(' | ')} |`

export const table = (head: string[], rows: string[]): string =>
  [row(head), row(head.map(() => '---')), ...rows].join('\n')
