/** Days in addresses and forms, such as 2026-05-03. */
import { DAY_MS } from '../../core/clock.ts'

/** `day`: counted from 1 January 1970. */
export const writeDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** null: not a day, or one that doesn't exist, such as 31 February. */
export function readDay(text: string): number | null {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) / DAY_MS : Number.NaN
  return Number.isNaN(day) || writeDay(day) !== text ? null : day
}

/** null if both are in order, or one is missing. */
export const findOrderFault = (first: number | null, last: number | null): string | null =>
  first !== null && last !== null && first > last ? 'The first day is after the last.' : null

/** Choices of a range, in days up to today. */
export const RANGE_DAYS = [7, 30, 90] as const
