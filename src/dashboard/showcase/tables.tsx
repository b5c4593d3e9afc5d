/** @jsxImportSource preact */
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { AreaChart, formatCount, Sparkline } from '../ui/chart.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Progress } from '../ui/progress.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { Timeline } from '../ui/timeline.tsx'
import { DAY, LONG } from './samples.ts'

type Row = { name: string; count: number; at: number; isLive: boolean }

const HOURS = [3, 9, 4, 12, 18, 11, 25, 32, 20, 27, 41, 38]

const columnsAt = (now: number): Column<Row>[] => [
  { name: 'Event', cell: ({ name }) => name },
  { name: 'State', cell: ({ isLive }) => (isLive ? <Badge mood="good">Arriving</Badge> : <Badge>Quiet</Badge>) },
  { name: 'Last hours', cell: ({ count }) => <Sparkline label={`${count} events`} values={HOURS} /> },
  { name: 'Last', cell: ({ at }) => <Time at={at} now={now} /> },
  { name: 'Count', isNumber: true, cell: ({ count }) => formatCount(count) },
  { name: 'Change it', isAction: true, cell: () => <Button>Rename</Button> },
]

const rowsAt = (now: number): Row[] => [
  { name: 'results_ready', count: 1_234_567, at: now - 20_000, isLive: true },
  { name: 'signed_in', count: 9_999, at: now - 3_600_000, isLive: true },
  { name: LONG, count: 3, at: now - 90 * DAY, isLive: false },
]

/** What many rows, few and none look like. */
export const TableParts = ({ now }: { now: number }) => (
  <>
    <section>
      <h2>Table</h2>
      <Table label="Event names" columns={columnsAt(now)} rows={rowsAt(now)} idOf={({ name }) => name} />
      <Pager newer="#main" older="#main" />
    </section>
    <section>
      <h2>Empty state</h2>
      <EmptyState title="No messages yet" next={<Button kind="primary">Write “Your results are ready”</Button>}>
        A message is written once and sent when an event calls for it. There is none, because nobody has written one.
      </EmptyState>
    </section>
    <section>
      <h2>Area chart</h2>
      <AreaChart label="Events in the last 12 hours" points={HOURS.map((value, i) => ({ label: `${i}:00`, value }))} />
    </section>
    <section>
      <h2>Progress</h2>
      <Progress id="import" label="Importing people" done={12_000} of={48_500} />
      <Progress id="export" label="Exporting" done={812} of={null} />
    </section>
    <section>
      <h2>Timeline</h2>
      <Timeline
        now={now}
        moments={[
          { id: '1', at: now - 5_000, what: 'Opened /results/81' },
          { id: '2', at: now - 200_000, what: 'results_ready', detail: `headline: ${LONG}` },
          { id: '3', at: now - 2 * DAY, what: 'Was added', detail: 'By an event with createContact' },
        ]}
      />
    </section>
  </>
)
