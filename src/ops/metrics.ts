import { MOST_COUNTED } from '../core/count.ts'

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

type Histogram = { bounds: number[]; counts: number[]; sum: number; count: number }

const createHistogram = (bounds: number[]): Histogram => ({ bounds, counts: bounds.map(() => 0), sum: 0, count: 0 })

function observe(histogram: Histogram, value: number): void {
  // the last bound is implicit (+Inf)
  let bucket = 0
  while (value > (histogram.bounds[bucket] ?? Infinity)) bucket += 1
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
  histogram.sum += value
  histogram.count += 1
}

function printHistogram(name: string, help: string, { bounds, counts, sum, count }: Histogram): string {
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0
    return `${name}_bucket{le="${bound}"} ${below}`
  })
  const rest = [`${name}_bucket{le="+Inf"} ${count}`, `${name}_sum ${sum}`, `${name}_count ${count}`]
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...buckets, ...rest].join('\n')
}

const printGauge = (name: string, help: string, value: number): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}`

type Series = { method: string; route: string; status: number; count: number }

function findSeries(requests: Map<string, Series>, labels: Omit<Series, 'count'>): Series {
  const text = `method="${labels.method}",route="${labels.route}",status="${labels.status}"`
  const series = requests.get(text) ?? { ...labels, count: 0 }
  requests.set(text, series)
  return series
}

/** `oldestDueAt`: ms UTC; null: no email is due. */
export type EmailQueue = { waiting: number; due: number; oldestDueAt: number | null }

/** Of the whole database, so instances that share it have the same values. */
const printQueue = ({ waiting, due, oldestDueAt }: EmailQueue, now: number): string[] => [
  printGauge('eventpost_emails_waiting', `Emails waiting to be sent, ${COUNTED}.`, waiting),
  printGauge('eventpost_emails_due', `Emails that should have been sent by now, ${COUNTED}.`, due),
  printGauge(
    'eventpost_emails_oldest_due_seconds',
    'How long the oldest email has been due; 0 if none is.',
    oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000,
  ),
]

const COUNTED = `counted up to ${MOST_COUNTED + 1}`

export type StoreSizes = { waiting: number; databaseBytes: number; logBytes: number }
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const requests = new Map<string, Series>()
  let last: Series = { method: '', route: '', status: 0, count: 0 }
  const requestSeconds = createHistogram(SECONDS)
  const commitSeconds = createHistogram(SECONDS)
  const commitRows = createHistogram(ROWS)
  const emails = new Map<string, number>()
  return {
    /** The pattern, not the path: callers can't create series. */
    countRequest(method: string, route: string, status: number, seconds: number): void {
      // under load most are the same series
      const isLast = route === last.route && status === last.status && method === last.method
      if (!isLast) last = findSeries(requests, { method, route, status })
      last.count += 1
      observe(requestSeconds, seconds)
    },
    countCommit({ rows, ms }: { rows: number; ms: number }): void {
      observe(commitSeconds, ms / 1000)
      observe(commitRows, rows)
    },
    /** `state`: of an email after the server tried to send it. */
    countEmail: (state: string): void => void emails.set(state, (emails.get(state) ?? 0) + 1),
    /** `queue` null: the database doesn't say. `now`: ms UTC. */
    print({ waiting, databaseBytes, logBytes }: StoreSizes, queue: EmailQueue | null, now: number): string {
      const counted = Array.from(requests, ([labels, { count }]) => `eventpost_requests_total{${labels}} ${count}`)
      const tried = Array.from(emails, ([state, count]) => `eventpost_email_attempts_total{state="${state}"} ${count}`)
      return [
        '# HELP eventpost_requests_total Responses sent.',
        '# TYPE eventpost_requests_total counter',
        ...counted,
        printHistogram('eventpost_request_seconds', 'Duration of a request.', requestSeconds),
        printHistogram('eventpost_commit_seconds', 'Duration of a group commit.', commitSeconds),
        printHistogram('eventpost_commit_rows', 'Writes in a group commit.', commitRows),
        '# HELP eventpost_email_attempts_total Attempts to send an email, by the resulting state.',
        '# TYPE eventpost_email_attempts_total counter',
        ...tried,
        ...(queue === null ? [] : printQueue(queue, now)),
        printGauge('eventpost_writes_waiting', 'Writes waiting to be committed.', waiting),
        printGauge('eventpost_database_bytes', 'Size of the database.', databaseBytes),
        printGauge('eventpost_wal_bytes', 'Size of the write-ahead log.', logBytes),
        printGauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
        '',
      ].join('\n')
    },
  }
}
