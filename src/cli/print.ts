import { VERSION } from '../core/version.ts'
import type { Command, Option, Printed } from './command.ts'

export function printResult(printed: Printed, asJson: boolean): string {
  if (asJson) return JSON.stringify(printed, null, 2)
  if (typeof printed === 'string') return printed
  if (!Array.isArray(printed)) return alignColumns(Object.entries(printed).map(([name, value]) => [name, show(value)]))
  const [first] = printed
  if (!first) return 'none'
  return alignColumns([Object.keys(first), ...printed.map((row) => Object.values(row).map(show))])
}

function show(value: unknown): string {
  if (Array.isArray(value)) return value.map(show).join(', ') || '-'
  if (value === Infinity) return 'unlimited'
  return value === null || value === undefined ? '-' : String(value)
}

function alignColumns(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function printHelp(commands: Command[]): string {
  const [only] = commands.length === 1 ? commands : []
  if (only) return [`eventpost ${usage(only)}`, '', `  ${only.summary}`, '', optionLines(only)].join('\n').trimEnd()
  return [
    `eventpost ${VERSION}: records people and events, and sends lifecycle emails.`,
    '',
    alignColumns(commands.map((command) => [`  ${usage(command)}`, command.summary])),
    '',
    'eventpost COMMAND --help lists the options. Exit codes: 0 success, 1 refused, 2 wrong usage.',
  ].join('\n')
}

const usage = ({ name, words }: Command): string => (words === undefined ? name : `${name} ${words}`)

const optionLines = ({ options }: Command): string =>
  alignColumns(
    Object.entries(options).map(([name, option]) => [
      `  ${option.isSecret ? option.env : `--${name}`}${option.value === undefined ? '' : ` ${option.value}`}`,
      `${option.meaning}${originsOf(option)}`,
    ]),
  )

function originsOf({ env, default: fallback, isRequired, isSecret }: Option): string {
  if (isRequired) return ' (required)'
  if (isSecret) return ` (environment variable; or ${env}_FILE)`
  const origins = [...(fallback ? [`default: ${fallback}`] : []), ...(env ? [env] : [])]
  return origins.length === 0 ? '' : ` (${origins.join('; ')})`
}
