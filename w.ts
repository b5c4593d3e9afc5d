import { Database } from 'bun:sqlite'
const db = new Database('/tmp/s30/w/x.db', { create: true })
db.run('PRAGMA journal_mode=WAL')
db.run('create table if not exists t(a)')
self.onmessage = () => {
  postMessage('p')
  let n = 0
  for (;;) {
    n += (db.query('select count(*) c from t').get() as any).c
  }
}
postMessage('ready')
