/**
 * Builds disks as a power cut would have left them, from the record that power-cut.c makes. What a file's last finished
 * fsync covers is there. Of what was written later, any part may be: all, none, or any of its sectors of 512 bytes, in
 * no order, because a disk keeps none.
 */
import { openSync, readSync, closeSync } from 'node:fs'
import { basename } from 'node:path'
import type { Random } from '../random.ts'

const KINDS = ['none', 'name', 'write', 'truncate', 'sync', 'answer', 'unlink'] as const
const START = 64
const HEADER_BYTES = 32
const SECTOR = 512

export type Entry = {
  at: number
  kind: (typeof KINDS)[number]
  /** the file's number, 0 for an answer */
  file: number
  offset: number
  /** where the record stood when a sync began */
  begun: number
  data: Buffer
}

/** The record up to its end, or to the first entry that the killed process did not finish. */
export function readRecord(path: string): Entry[] {
  const file = openSync(path, 'r')
  const head = Buffer.alloc(8)
  readSync(file, head, 0, 8, 0)
  const text = Buffer.alloc(Number(head.readBigUInt64LE()))
  for (let at = 0; at < text.length;) at += readSync(file, text, at, text.length - at, at) || text.length
  closeSync(file)

  const entries: Entry[] = []
  for (let at = START; at + HEADER_BYTES <= text.length;) {
    const kind = KINDS[text.readUInt32LE(at)]
    if (kind === undefined || kind === 'none') break
    const length = Number(text.readBigUInt64LE(at + 16))
    const data = text.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length)
    const [offset, begun] = [Number(text.readBigUInt64LE(at + 8)), Number(text.readBigUInt64LE(at + 24))]
    entries.push({ at, kind, file: text.readUInt32LE(at + 4), offset, begun, data })
    at += (HEADER_BYTES + length + 7) & ~7
  }
  return entries
}

type FileState = { bytes: Bytes; pending: Entry[]; isLinked: boolean; linkedAt: number }
type Bytes = { buffer: Buffer; length: number }

/** `base` is what lay on the disk, safely, when the record began; `folder` the name under which it was opened. */
export function createDisk(folder: string, base: Record<string, Buffer>) {
  const names = new Map<number, string>()
  const files = new Map<string, FileState>()
  for (const [name, buffer] of Object.entries(base)) {
    files.set(name, { bytes: { buffer, length: buffer.length }, pending: [], isLinked: true, linkedAt: 0 })
  }
  const stateOf = ({ file }: Entry): FileState | undefined => files.get(names.get(file) ?? '')

  const addName = ({ file, offset: isNew, data, at }: Entry): void => {
    const path = data.toString()
    names.set(file, path === folder ? '' : basename(path))
    if (!isNew) return
    files.set(basename(path), {
      bytes: { buffer: Buffer.alloc(0), length: 0 },
      pending: [],
      isLinked: false,
      linkedAt: at,
    })
  }
  const sync = (entry: Entry): void => {
    if (names.get(entry.file) === '') {
      for (const state of files.values()) state.isLinked ||= state.linkedAt < entry.begun
      return
    }
    const state = stateOf(entry)
    if (!state) return
    for (const write of state.pending) if (write.at < entry.begun) applyWhole(state.bytes, write)
    state.pending = state.pending.filter((write) => write.at >= entry.begun)
  }

  return {
    /** Goes on by one entry. */
    advance(entry: Entry): void {
      if (entry.kind === 'name') addName(entry)
      else if (entry.kind === 'sync') sync(entry)
      else if (entry.kind === 'write' || entry.kind === 'truncate') stateOf(entry)?.pending.push(entry)
      else if (entry.kind === 'unlink') files.delete(names.get(entry.file) ?? '')
    },
    /** The files as they may lie there if the power goes now. */
    cut(random: Random): Map<string, Buffer> {
      const choose = chooseSectors(random)
      const left = new Map<string, Buffer>()
      for (const [name, { bytes, pending, isLinked }] of files) {
        if (!isLinked && random.isOften(0.5)) continue
        const copy = { buffer: Buffer.from(bytes.buffer.subarray(0, bytes.length)), length: bytes.length }
        for (const write of pending) applyPart(copy, write, choose)
        left.set(name, copy.buffer.subarray(0, copy.length))
      }
      return left
    },
  }
}

/** Nothing of it, all of it, most or little of it, or all until a moment and nothing after. */
function chooseSectors(random: Random): () => boolean {
  const kind = random.below(5)
  if (kind === 0) return () => false
  if (kind === 1) return () => true
  if (kind === 2) return () => random.isOften(0.9)
  if (kind === 3) return () => random.isOften(0.3)
  let isOver = false
  return () => !(isOver ||= random.isOften(0.05))
}

function applyWhole(bytes: Bytes, { kind, offset, data }: Entry): void {
  if (kind === 'truncate') resize(bytes, offset)
  else writeAt(bytes, offset, data)
}

function applyPart(bytes: Bytes, entry: Entry, choose: () => boolean): void {
  if (entry.kind === 'truncate') {
    if (choose()) resize(bytes, entry.offset)
    return
  }
  const end = entry.offset + entry.data.length
  for (let from = entry.offset; from < end;) {
    const to = Math.min(end, from - (from % SECTOR) + SECTOR)
    if (choose()) writeAt(bytes, from, entry.data.subarray(from - entry.offset, to - entry.offset))
    from = to
  }
}

function writeAt(bytes: Bytes, offset: number, data: Buffer): void {
  if (offset + data.length > bytes.length) resize(bytes, offset + data.length)
  data.copy(bytes.buffer, offset)
}

/** What lies beyond an old end reads as zeros. */
function resize(bytes: Bytes, length: number): void {
  if (length > bytes.buffer.length) {
    const grown = Buffer.alloc(Math.max(length, bytes.buffer.length * 2))
    bytes.buffer.copy(grown, 0, 0, bytes.length)
    bytes.buffer = grown
  }
  if (length < bytes.length) bytes.buffer.fill(0, length, bytes.length)
  bytes.length = length
}
